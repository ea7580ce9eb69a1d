// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/verify/check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <system_error>

#include "core/base/files.h"
#include "core/base/sample/batch.h"
#include "core/plugin/names.h"

namespace atalaya::core {
namespace {

// The members of the first released header: more may follow, none may be missing.
constexpr uint32_t kPluginSize = offsetof(atalaya_plugin, component_count) + sizeof(atalaya_plugin::component_count);
constexpr uint32_t kComponentSize = offsetof(atalaya_component, ops) + sizeof(void *);
constexpr uint32_t kOpsSize = offsetof(atalaya_ops, command) + sizeof(void *);
constexpr uint32_t kParamSize = offsetof(atalaya_param, item_size) + sizeof(atalaya_param::item_size);
constexpr uint32_t kMetricSize = offsetof(atalaya_metric, summary) + sizeof(atalaya_metric::summary);
constexpr uint32_t kNeedSize = offsetof(atalaya_need, reason) + sizeof(atalaya_need::reason);

std::string version_text(uint32_t major, uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string octal(mode_t mode) {
  std::string digits = "0000";
  for (size_t i = 4; i-- > 0; mode /= 8) digits[i] = static_cast<char>('0' + mode % 8);
  return digits;
}

// `what` names the file or folder in the sentence: "" or "its folder /x is ".
Status check_owner_and_mode(const struct stat &info, const std::string &what, const std::string &path) {
  if (info.st_uid != 0 && info.st_uid != ::geteuid())
    return Error{what + "owned by user " + std::to_string(info.st_uid) + ", wanted root or the user that runs atalaya (" +
                 std::to_string(::geteuid()) + "); chown it or install the plugin again"};
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Error{what + "writable by others than its owner (mode " + octal(info.st_mode & 07777) + "); chmod go-w " + path};
  return Done{};
}

// A user that can change a parent folder could replace this one. A sticky bit, as /tmp has, prevents that. Folders that also
// contain this program are not checked: a user that can change those can replace the program.
Status check_folders_above(const std::filesystem::path &folder) {
  const std::filesystem::path binary = binary_folder();
  const auto holds_binary = [&](const std::filesystem::path &above) {
    return std::mismatch(above.begin(), above.end(), binary.begin(), binary.end()).first == above.end();
  };
  for (auto above = folder.parent_path(); above.has_relative_path() && !holds_binary(above); above = above.parent_path()) {
    struct stat info {};
    if (::stat(above.c_str(), &info) != 0) return Error{above.string() + ": " + error_text(errno) + "; check the path"};
    if ((info.st_mode & S_ISVTX) != 0) info.st_mode &= ~mode_t{S_IWGRP | S_IWOTH};
    if (auto allowed = check_owner_and_mode(info, above.string() + " above its folder is ", above); !allowed) return allowed;
  }
  return Done{};
}

Status too_short(std::string_view what, uint32_t size, uint32_t wanted) {
  return Error{std::string(what) + " has " + std::to_string(size) + " bytes, wanted at least " + std::to_string(wanted) +
               "; rebuild it with this atalaya's atalaya/plugin.h"};
}

std::string full_name(const atalaya_component &component) {
  return std::string(kind_name(component.kind)) + " \"" + text_of(component.name) + "\"";
}

struct Operation {
  const char *name;
  bool present;
  bool required;
};

std::array<Operation, 10> operations_of(const atalaya_component &component) {
  const atalaya_ops &ops = *component.ops;
  const uint32_t kind = component.kind;
  const bool push = kind == ATALAYA_SOURCE && (component.flags & ATALAYA_PUSH) != 0;
  return {{{"create", ops.create != nullptr, true},
           {"start", ops.start != nullptr, true},
           {"stop", ops.stop != nullptr, true},
           {"destroy", ops.destroy != nullptr, true},
           {"collect", ops.collect != nullptr, kind == ATALAYA_SOURCE && !push},
           {"run", ops.run != nullptr, push},
           {"interrupt", ops.interrupt != nullptr, push},
           {"process", ops.process != nullptr, kind == ATALAYA_TRANSLATOR || kind == ATALAYA_FILTER},
           {"write", ops.write != nullptr, kind == ATALAYA_SINK},
           {"command", ops.command != nullptr, kind == ATALAYA_COMMAND}}};
}

Status check_operations(const atalaya_component &component) {
  std::string missing;
  for (const Operation &operation : operations_of(component))
    if (operation.required && !operation.present) missing += (missing.empty() ? "" : ", ") + std::string(operation.name);
  if (missing.empty()) return Done{};
  return Error{full_name(component) + " lacks " + missing + "; add them to its atalaya_ops"};
}

Status check_tables(const atalaya_component &component) {
  struct Table {
    const char *name;
    const void *data;
    uint32_t count, size, wanted;
  };
  for (const Table &table : {Table{"params", component.params, component.param_count, component.param_size, kParamSize},
                             Table{"metrics", component.metrics, component.metric_count, component.metric_size, kMetricSize},
                             Table{"needs", component.needs, component.need_count, component.need_size, kNeedSize}}) {
    if (table.count == 0) continue;
    if (table.data == nullptr)
      return Error{full_name(component) + " counts " + std::to_string(table.count) + " " + table.name + " but has none; set both"};
    if (table.size < table.wanted)
      return too_short("an element of the " + std::string(table.name) + " of " + full_name(component), table.size, table.wanted);
  }
  return Done{};
}

Status check_component(const atalaya_component *component) {
  if (component == nullptr) return Error{"one of its components is NULL; correct component_count"};
  if (component->struct_size < kComponentSize) return too_short("atalaya_component", component->struct_size, kComponentSize);
  if (kind_name(component->kind).empty())
    return Error{"a component has kind " + std::to_string(component->kind) +
                 ", this atalaya knows 1 (source) to 5 (command); install a newer atalaya"};
  if (!is_component_name(view_of(component->name)))
    return Error{full_name(*component) + " has a bad name; wanted lower-case letters, digits and \"_\", a letter first"};
  if (component->ops == nullptr) return Error{full_name(*component) + " has no operations; set ops"};
  if (component->ops->struct_size < kOpsSize) return too_short("atalaya_ops", component->ops->struct_size, kOpsSize);
  if (auto tables = check_tables(*component); !tables) return tables;
  return check_operations(*component);
}

std::string component_lines(std::vector<ComponentName> names) {
  std::sort(names.begin(), names.end());
  std::string text;
  for (const ComponentName &name : names) text += (text.empty() ? "" : ", ") + std::string(kind_name(name.kind)) + " " + name.name;
  return text;
}

std::vector<ComponentName> names_of(const std::vector<const atalaya_component *> &components) {
  std::vector<ComponentName> names;
  names.reserve(components.size());
  for (const atalaya_component *component : components) names.push_back({component->kind, text_of(component->name)});
  return names;
}

Error note_differs(const std::string &note, const std::string &code) {
  return Error{"its note says \"" + note + "\" but its code \"" + code + "\"; make them equal"};
}

}  // namespace

Result<std::string> check_file(const std::string &path) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(path, error);
  if (error) return Error{error.message() + "; check the path"};
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return Error{error_text(errno) + "; check the path"};
  if (!S_ISREG(info.st_mode)) return Error{"not a regular file; put the plugin's shared object there"};
  if (auto allowed = check_owner_and_mode(info, "", file); !allowed) return Error{allowed.error()};
  const std::string folder = file.parent_path();
  if (::stat(folder.c_str(), &info) != 0) return Error{folder + ": " + error_text(errno) + "; check the path"};
  if (auto allowed = check_owner_and_mode(info, "its folder " + folder + " is ", folder); !allowed) return Error{allowed.error()};
  if (auto allowed = check_folders_above(folder); !allowed) return Error{allowed.error()};
  return file.string();
}

Status check_owned_by_root(const std::string &path) {
  auto file = check_file(path);
  if (!file) return Error{file.error()};
  for (std::filesystem::path one = *file;; one = one.parent_path()) {
    struct stat info {};
    if (::stat(one.c_str(), &info) != 0) return Error{one.string() + ": " + error_text(errno) + "; check the path"};
    if (info.st_uid != 0) return Error{one.string() + " is not root's, so it gets no capabilities; chown root " + one.string()};
    if (!one.has_relative_path()) return Done{};
  }
}

Status check_versions(uint32_t abi_major, uint32_t abi_minor, uint32_t sample_layout, const std::string &name) {
  static constexpr uint32_t offered_minor = ATALAYA_ABI_MINOR;  // not the macro: gcc warns of a comparison with 0
  const bool newer = abi_major > ATALAYA_ABI_MAJOR || (abi_major == ATALAYA_ABI_MAJOR && abi_minor > offered_minor);
  const auto advice = [&name](bool plugin_is_newer) {
    return plugin_is_newer ? "; install a newer atalaya or an older " + name : "; install a newer " + name + " or an older atalaya";
  };
  if (newer || abi_major != ATALAYA_ABI_MAJOR)
    return Error{"built for plugin ABI " + version_text(abi_major, abi_minor) + ", this atalaya offers " +
                 version_text(ATALAYA_ABI_MAJOR, ATALAYA_ABI_MINOR) + advice(newer)};
  if (sample_layout != ATALAYA_SAMPLE_LAYOUT)
    return Error{"built for sample layout " + std::to_string(sample_layout) + ", this atalaya offers " +
                 std::to_string(ATALAYA_SAMPLE_LAYOUT) + advice(sample_layout > ATALAYA_SAMPLE_LAYOUT)};
  return Done{};
}

Status check_descriptor(const atalaya_plugin *descriptor, std::vector<const atalaya_component *> &components) {
  if (descriptor == nullptr) return Error{"atalaya_plugin_v1 returned NULL; return the plugin's description"};
  if (descriptor->struct_size < kPluginSize) return too_short("atalaya_plugin", descriptor->struct_size, kPluginSize);
  const std::string name(view_of(descriptor->name));
  if (auto versions = check_versions(descriptor->abi_major, descriptor->abi_minor, descriptor->sample_layout, name); !versions)
    return versions;
  if (!is_plugin_name(name) || !is_version(view_of(descriptor->version)))
    return Error{"the plugin's name is \"" + name + "\", its version \"" + text_of(descriptor->version) +
                 "\"; wanted lower-case letters, digits, \"_\" and \"-\", a letter first, and a version without spaces"};
  if (descriptor->component_count == 0 || descriptor->component_count > kMaxComponents || descriptor->components == nullptr)
    return Error{"offers " + std::to_string(descriptor->component_count) + " components, wanted 1 to 256; list them"};
  for (uint64_t i = 0; i < descriptor->component_count; ++i) {
    if (auto component = check_component(descriptor->components[i]); !component) return component;
    components.push_back(descriptor->components[i]);
  }
  std::vector<ComponentName> names = names_of(components);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    return Error{"offers " + std::string(kind_name(twice->kind)) + " \"" + twice->name + "\" twice; rename one"};
  return Done{};
}

Status check_note(const PluginNote &note, const atalaya_plugin &descriptor,
                  const std::vector<const atalaya_component *> &components) {
  const auto title = [](std::string_view name, std::string_view version, uint32_t major, uint32_t minor, uint32_t layout) {
    return std::string(name) + " " + std::string(version) + ", ABI " + version_text(major, minor) + ", sample layout " +
           std::to_string(layout);
  };
  const std::string noted = title(note.name, note.version, note.abi_major, note.abi_minor, note.sample_layout);
  const std::string coded = title(view_of(descriptor.name), view_of(descriptor.version), descriptor.abi_major, descriptor.abi_minor,
                                  descriptor.sample_layout);
  if (noted != coded) return note_differs(noted, coded);
  const std::string noted_components = component_lines(note.components);
  const std::string coded_components = component_lines(names_of(components));
  if (noted_components != coded_components) return note_differs(noted_components, coded_components);
  return Done{};
}

}  // namespace atalaya::core
