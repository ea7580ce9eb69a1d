// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/registry.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/base/files.h"
#include "core/base/sample/batch.h"
#include "core/plugin/packages.h"
#include "core/plugin/verify/check.h"

namespace atalaya::core {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kKinds = {"", "source", "translator", "filter", "sink", "command"};

// The plugin files of a folder, sorted by name; none if the folder does not exist.
std::vector<std::string> shared_objects(const std::string &folder, std::vector<std::string> &refused) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".so") files.push_back(entry->path());
  if (error && error != std::errc::no_such_file_or_directory)
    refused.push_back(folder + ": " + error.message() + "; make the plugin folder readable or name another with --plugins");
  std::sort(files.begin(), files.end());
  return files;
}

Result<PluginNote> usable_note(const std::string &path) {
  if (auto file = check_file(path); !file) return Error{path + ": " + file.error()};
  auto note = read_plugin_note(path);
  if (!note) return note;
  if (auto versions = check_versions(note->abi_major, note->abi_minor, note->sample_layout, note->name); !versions)
    return Error{path + ": " + versions.error()};
  return note;
}

void append_unique(std::vector<std::string> &folders, const std::string &folder) {
  if (!folder.empty() && std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
}

std::vector<std::string> own_folders() {
  const fs::path binary = binary_folder();
  return {binary / "plugins", binary.parent_path() / "lib" / "atalaya", "/usr/lib/atalaya"};
}

// Each package lists its plugins in PACKAGE.manifest next to them, a file name per line.
bool is_in_manifest(const fs::path &file) {
  std::error_code error;
  for (fs::directory_iterator entry(file.parent_path(), error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".manifest") continue;
    std::ifstream manifest(entry->path());
    for (std::string line; std::getline(manifest, line);)
      if (line == file.filename()) return true;
  }
  return false;
}

void append_list(std::vector<std::string> &folders, const std::string &list) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    append_unique(folders, list.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

std::string package_advice(uint32_t kind, std::string_view name) {
  for (const PackagedComponent &one : kPackagedComponents)
    if (one.kind == kind && one.name == name && !name.empty()) return "; install the package " + std::string(one.package);
  return "";
}

std::string_view build_advice() {
  return kBuildAdvice;
}

std::string_view kind_name(uint32_t kind) {
  return kind < kKinds.size() ? kKinds[kind] : kKinds[0];
}

uint32_t kind_from_name(std::string_view name) {
  for (uint32_t kind = 1; kind < kKinds.size(); ++kind)
    if (kKinds[kind] == name) return kind;
  return 0;
}

Registry Registry::scan(const std::vector<std::string> &folders) {
  Registry registry;
  for (const std::string &folder : folders) {
    for (const std::string &path : shared_objects(folder, registry.refused_)) {
      auto note = usable_note(path);
      if (note)
        registry.add_entry({path, note->name, note->version, note->components}, nullptr);
      else
        registry.refused_.push_back(note.error());
    }
  }
  return registry;
}

std::vector<std::string> Registry::default_folders(const std::string &option) {
  std::vector<std::string> folders;
  append_list(folders, option);
  const char *environment = std::getenv("ATALAYA_PLUGINS");
  append_list(folders, environment == nullptr ? "" : environment);
  for (const std::string &folder : own_folders()) append_unique(folders, folder);
  return folders;
}

bool Registry::is_bundled(const std::string &path) {
  if (path.find('/') == std::string::npos) return true;
  std::error_code error;
  const fs::path file = fs::weakly_canonical(path, error);
  const auto own = own_folders();
  return std::any_of(own.begin(), own.end(),
                     [&](const std::string &one) { return fs::weakly_canonical(one, error) == file.parent_path(); }) &&
         is_in_manifest(file);
}

void Registry::add(std::shared_ptr<const Plugin> plugin) {
  Entry entry{plugin->path(), std::string(plugin->name()), std::string(plugin->version()), {}};
  for (const atalaya_component *component : plugin->components())
    entry.components.push_back({component->kind, text_of(component->name)});
  add_entry(std::move(entry), std::move(plugin));
}

void Registry::add_entry(Entry entry, std::shared_ptr<const Plugin> opened) {
  for (const ComponentName &component : entry.components) by_name_.try_emplace(component, entries_.size());
  entries_.push_back(std::move(entry));
  opened_.push_back(std::move(opened));
}

bool Registry::known(uint32_t kind, std::string_view name) const {
  return by_name_.find({kind, std::string(name)}) != by_name_.end();
}

Result<Registry::Component> Registry::open(uint32_t kind, std::string_view name) {
  const auto found = by_name_.find({kind, std::string(name)});
  if (found == by_name_.end())
    return Error{std::string(kind_name(kind)) + " \"" + std::string(name) + "\" is not known" + package_advice(kind, name)};
  std::shared_ptr<const Plugin> &opened = opened_[found->second];
  if (opened == nullptr) {
    auto plugin = Plugin::open(entries_[found->second].path);
    if (!plugin) return Error{plugin.error()};
    opened = *plugin;
  }
  for (const atalaya_component *component : opened->components())
    if (component->kind == kind && view_of(component->name) == name) return Component{opened, component};
  return Error{opened->path() + ": no longer offers " + std::string(kind_name(kind)) + " \"" + std::string(name) +
               "\"; the file changed since atalaya started: start it again"};
}

std::vector<std::string> Registry::names(uint32_t kind) const {
  std::vector<std::string> names;
  for (const auto &[component, entry] : by_name_)
    if (component.kind == kind) names.push_back(component.name);
  return names;
}

}  // namespace atalaya::core
