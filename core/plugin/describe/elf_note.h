// SPDX-License-Identifier: Apache-2.0
// The bytes of a plugin's ELF note. The file is foreign until its note has been read: every offset and size is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

// Copies `size` bytes at the offset of a file; false when the file ends before that.
using ReadAt = std::function<bool(uint64_t offset, void *to, size_t size)>;

// The errors have no file name in front.
Result<PluginNote> parse_plugin_note(const ReadAt &read_at);

}  // namespace atalaya::core
