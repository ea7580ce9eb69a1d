// SPDX-License-Identifier: Apache-2.0
// The file behind a mapping. Inodes and names are reused, so the file is identified while the process maps it: until it is
// unmapped, no other file has its inode.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/code/symbols/process/memory_map.h"

namespace atalaya::symbols {

// Sets the stamp of each mapped file. The mappings must be of this process, before and after the call. Mappings that an earlier
// reading has, too, keep the stamp of `earlier`: opening each file costs more than the rest of a reading.
void note_files(int32_t pid, std::vector<Mapping> &mappings, std::span<const Mapping> earlier = {});

// Opens the file if it still has the stamp; closed: it cannot be opened, or is another file now.
core::Descriptor open_noted(int32_t pid, const Mapping &mapping);

}  // namespace atalaya::symbols
