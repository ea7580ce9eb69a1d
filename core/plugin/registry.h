// SPDX-License-Identifier: Apache-2.0
// Finds plugins by their ELF note without opening them, and opens those that are used.
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
// For a component that no loaded plugin offers: "; install the package atalaya-kafka", or "".
std::string package_advice(uint32_t kind, std::string_view name);
// Of a build of some plugins only: the way to all of them. Else empty.
std::string_view build_advice();
inline constexpr std::array<uint32_t, 5> kComponentKinds = {ATALAYA_SOURCE, ATALAYA_TRANSLATOR, ATALAYA_FILTER, ATALAYA_SINK,
                                                            ATALAYA_COMMAND};
uint32_t kind_from_name(std::string_view name);  // 0 when unknown

struct ComponentName {
  uint32_t kind = 0;
  std::string name;
  auto operator<=>(const ComponentName &) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 reads a 0 into it
};

// The content of a file's note.
struct PluginNote {
  std::string name, version;
  uint16_t abi_major = 0, abi_minor = 0;
  uint32_t sample_layout = 0;
  std::vector<ComponentName> components;
};

// Reads the note of an ELF file. Bounds are checked; nothing of the file is run.
Result<PluginNote> read_plugin_note(const std::string &path);

// An opened plugin whose descriptor has been checked. Never closed: its code may live on in threads and destructors.
class Plugin {
 public:
  // Opens a file: ownership and mode (root or the effective user, writable by no one else, the folder too), note, versions,
  // descriptor. The error is one line: file, wanted, offered, remedy.
  static Result<std::shared_ptr<const Plugin>> open(const std::string &path);
  // The same checks on a descriptor in memory, for tests and static builds.
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

// The components that can be named in a pipeline file.
class Registry {
 public:
  struct Entry {
    std::string path, plugin_name, version;
    std::vector<ComponentName> components;
  };

  // Looks through the folders in order at the files named *.so; the first file that offers a component has it. Nothing is opened;
  // files that open would refuse are listed as refused as far as their mode and their note show it.
  static Registry scan(const std::vector<std::string> &folders);
  // --plugins and $ATALAYA_PLUGINS (':' between), "plugins" beside the binary, its prefix's lib/atalaya, /usr/lib/atalaya.
  static std::vector<std::string> default_folders(const std::string &option);

  // Whether a file is one of atalaya's own plugins: in a folder of them (all of those folders but the first two), and in the
  // manifest of a package there. A plugin in memory is our own.
  static bool is_ours(const std::string &path);

  // For tests: a plugin that is already open.
  void add(std::shared_ptr<const Plugin> plugin);

  struct Component {
    std::shared_ptr<const Plugin> plugin;
    const atalaya_component *component = nullptr;
  };
  // Opens the plugin on first use. Unknown names: `known` is empty and the error has no "did you mean"; ask names().
  bool known(uint32_t kind, std::string_view name) const;
  Result<Component> open(uint32_t kind, std::string_view name);
  std::vector<std::string> names(uint32_t kind) const;
  const std::vector<Entry> &entries() const { return entries_; }
  const std::vector<std::string> &refused() const { return refused_; }  // one line a file
  // Puts the metrics of all plugins that are open into the catalogue. The problems: invalid metrics, and metrics that two plugins
  // declare differently.
  std::vector<std::string> declare_metrics(NameTable &names) const;

 private:
  void add_entry(Entry entry, std::shared_ptr<const Plugin> opened);

  std::vector<Entry> entries_;
  std::vector<std::string> refused_;
  std::map<ComponentName, size_t> by_name_;            // -> entries_
  std::vector<std::shared_ptr<const Plugin>> opened_;  // parallel to entries_; null until used
};

// Puts the metrics of one component into the catalogue. What is invalid or declared differently is left out and logged.
void declare_metrics(const atalaya_component &component, NameTable &names);

inline Schema schema_of(const atalaya_component &component) {
  return {component.params, component.param_count, component.param_size};
}

}  // namespace atalaya::core
