// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <string>

#include "core/base/sample/batch.h"
#include "core/plugin/registry.h"
#include "core/plugin/verify/check.h"

namespace atalaya::core {
namespace {

constexpr const char *kSymbol = "atalaya_plugin_v1";

// The dynamic loader's message without the file name at its start.
std::string load_error(const std::string &path) {
  const char *message = ::dlerror();
  std::string text = message == nullptr ? "unknown reason" : message;
  if (text.rfind(path + ": ", 0) == 0) text.erase(0, path.size() + 2);
  return text;
}

// The descriptor that the file exports. The file is never closed, because its constructors have run.
Result<const atalaya_plugin *> load(const std::string &path) {
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Error{"cannot be loaded: " + load_error(path) + "; install its libraries or rebuild it"};
  const auto describe = reinterpret_cast<const atalaya_plugin *(*)()>(::dlsym(library, kSymbol));
  if (describe == nullptr) return Error{"does not export " + std::string(kSymbol) + "; define it with ATALAYA_EXPORT"};
  return describe();
}

}  // namespace

Result<std::shared_ptr<const Plugin>> Plugin::open(const std::string &path) {
  auto file = check_file(path);
  if (!file) return Error{path + ": " + file.error()};
  auto note = read_plugin_note(path);
  if (!note) return Error{note.error()};
  if (auto versions = check_versions(note->abi_major, note->abi_minor, note->sample_layout, note->name); !versions)
    return Error{path + ": " + versions.error()};
  auto descriptor = load(*file);
  if (!descriptor) return Error{path + ": " + descriptor.error()};
  auto plugin = from_descriptor(*descriptor, path);
  if (!plugin) return plugin;
  if (auto same = check_note(*note, **descriptor, (*plugin)->components()); !same) return Error{path + ": " + same.error()};
  return plugin;
}

Result<std::shared_ptr<const Plugin>> Plugin::from_descriptor(const atalaya_plugin *descriptor, const std::string &path) {
  const std::shared_ptr<Plugin> plugin(new Plugin);
  plugin->path_ = path;
  plugin->descriptor_ = descriptor;
  if (auto checked = check_descriptor(descriptor, plugin->components_); !checked) return Error{path + ": " + checked.error()};
  return std::shared_ptr<const Plugin>(plugin);
}

std::string_view Plugin::name() const {
  return view_of(descriptor_->name);
}

std::string_view Plugin::version() const {
  return view_of(descriptor_->version);
}

}  // namespace atalaya::core
