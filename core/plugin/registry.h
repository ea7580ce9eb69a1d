// SPDX-License-Identifier: Apache-2.0
// Finds plugins by their ELF note without opening them; opens those that are used.
#pragma once

#include <atalaya/plugin.h>
#include <array>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/sample/symbols.h"
#include "core/plugin/describe/parameters.h"

namespace atalaya::core {

// "source", "translator", "filter", "sink", "command"; "" for an unknown kind.
std::string_view kind_name(uint32_t kind);
// The advice for a component that no installed plugin offers: "; install the package atalaya-kafka", or "".
std::string package_advice(uint32_t kind, std::string_view name);
// The advice for a build without some plugins: how to build all of them; "" for a complete build.
std::string_view build_advice();
inline constexpr std::array<uint32_t, 5> kComponentKinds = {ATALAYA_SOURCE, ATALAYA_TRANSLATOR, ATALAYA_FILTER, ATALAYA_SINK,
                                                            ATALAYA_COMMAND};
uint32_t kind_from_name(std::string_view name);  // 0 for an unknown name

struct ComponentName {
  uint32_t kind = 0;
  std::string name;
  auto operator<=>(const ComponentName &) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 reads a 0 into it
};

// The content of a plugin's ELF note.
struct PluginNote {
  std::string name, version;
  uint16_t abi_major = 0, abi_minor = 0;
  uint32_t sample_layout = 0;
  std::vector<ComponentName> components;
};

// Reads the note of an ELF file with bounds checks; runs no code of the file.
Result<PluginNote> read_plugin_note(const std::string &path);

// An opened plugin with a valid descriptor. It is never closed, because threads and destructors may still run its code.
class Plugin {
 public:
  // Opens a file after these checks: owner and mode of file and folder (root or the effective user owns them, nobody else can
  // write), note, versions, descriptor. The error is one line: file, required value, actual value, remedy.
  static Result<std::shared_ptr<const Plugin>> open(const std::string &path);
  // Checks a descriptor in memory in the same way, for tests and static builds.
  static Result<std::shared_ptr<const Plugin>> from_descriptor(const atalaya_plugin *descriptor, const std::string &path);

  const std::string &path() const { return path_; }
  std::string_view name() const;
  std::string_view version() const;
  const std::vector<const atalaya_component *> &components() const { return components_; }

 private:
  Plugin() = default;
  std::string path_;
  const atalaya_plugin *descriptor_ = nullptr;
  std::vector<const atalaya_component *> components_;
};

// The installed plugins and their components.
class Registry {
 public:
  struct Entry {
    std::string path, plugin_name, version;
    std::vector<ComponentName> components;
  };

  // Reads the notes of the files *.so in the folders, in their order; if several files offer a component, the first one is used.
  // Opens no plugin. Lists a file as refused if its mode or its note is invalid.
  static Registry scan(const std::vector<std::string> &folders);
  // The folders of --plugins and $ATALAYA_PLUGINS (separated by ':'), "plugins" in the folder of the binary, lib/atalaya of its
  // prefix, /usr/lib/atalaya.
  static std::vector<std::string> default_folders(const std::string &option);

  // Whether a plugin is part of Atalaya: in a default folder except the first two, and in the manifest of a package there. Plugins
  // in memory are part of Atalaya.
  static bool is_bundled(const std::string &path);

  // For tests: a plugin that is already open.
  void add(std::shared_ptr<const Plugin> plugin);

  struct Component {
    std::shared_ptr<const Plugin> plugin;
    const atalaya_component *component = nullptr;
  };
  // `open` opens the plugin on first use. Its error for an unknown name suggests no other name; see names().
  bool known(uint32_t kind, std::string_view name) const;
  Result<Component> open(uint32_t kind, std::string_view name);
  std::vector<std::string> names(uint32_t kind) const;
  const std::vector<Entry> &entries() const { return entries_; }
  const std::vector<std::string> &refused() const { return refused_; }  // one line per file
  // Declares the metrics of all open plugins in the catalogue. Returns the problems: invalid metrics, and metrics that two plugins
  // declare differently.
  std::vector<std::string> declare_metrics(NameTable &names) const;

 private:
  void add_entry(Entry entry, std::shared_ptr<const Plugin> opened);

  std::vector<Entry> entries_;
  std::vector<std::string> refused_;
  std::map<ComponentName, size_t> by_name_;            // index in entries_
  std::vector<std::shared_ptr<const Plugin>> opened_;  // parallel to entries_; null until used
};

// Declares the metrics of one component in the catalogue. Metrics that are invalid, or that are already declared differently, are
// logged and left out.
void declare_metrics(const atalaya_component &component, NameTable &names);

inline Schema schema_of(const atalaya_component &component) {
  return {component.params, component.param_count, component.param_size};
}

}  // namespace atalaya::core
