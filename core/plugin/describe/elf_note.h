// SPDX-License-Identifier: Apache-2.0
// Parses the ELF note of a plugin file. The file is untrusted input: every offset and size is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

// Copies `size` bytes at an offset of the file; false if the file ends before.
using ReadAt = std::function<bool(uint64_t offset, void *to, size_t size)>;

// Errors do not contain the file's name.
Result<PluginNote> parse_plugin_note(const ReadAt &read_at);

}  // namespace atalaya::core
