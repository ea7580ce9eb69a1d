// SPDX-License-Identifier: Apache-2.0
// Checks of a plugin before its use. Errors do not contain the file's name.
#pragma once

#include <atalaya/plugin.h>

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

// Checks that the file is regular and that only root and the effective user can change it and its folder. Returns the path without
// symbolic links, so that the checked file is the loaded file.
Result<std::string> check_file(const std::string &path);
// Checks that only root can change the file; for processes with capabilities.
Status check_owned_by_root(const std::string &path);
// Checks the versions of a plugin's ABI. `name` is the plugin, for the advice.
Status check_versions(uint32_t abi_major, uint32_t abi_minor, uint32_t sample_layout, const std::string &name);
// Checks versions, sizes, names, kinds and operations. Appends the components to `components`.
Status check_descriptor(const atalaya_plugin *descriptor, std::vector<const atalaya_component *> &components);
Status check_note(const PluginNote &note, const atalaya_plugin &descriptor,
                  const std::vector<const atalaya_component *> &components);

}  // namespace atalaya::core
