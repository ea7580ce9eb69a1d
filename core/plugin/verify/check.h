// SPDX-License-Identifier: Apache-2.0
// Reasons not to use a plugin. Errors do not begin with a file name.
#pragma once

#include <atalaya/plugin.h>

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

// A regular file that nobody but root and the effective user can change, in such a folder. Gives the file that a link leads to:
// the checked file is the loaded file.
Result<std::string> check_file(const std::string &path);
// For who has capabilities: nobody but root can change it.
Status check_roots_file(const std::string &path);
// `name` is the plugin's, for the advice.
Status check_versions(uint32_t abi_major, uint32_t abi_minor, uint32_t sample_layout, const std::string &name);
// Versions, sizes, names, kinds and operations; the components are appended to `components`.
Status check_descriptor(const atalaya_plugin *descriptor, std::vector<const atalaya_component *> &components);
Status check_note(const PluginNote &note, const atalaya_plugin &descriptor,
                  const std::vector<const atalaya_component *> &components);

}  // namespace atalaya::core
