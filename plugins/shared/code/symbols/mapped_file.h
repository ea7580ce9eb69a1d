// SPDX-License-Identifier: Apache-2.0
// Identifies and opens the file behind a mapping. Inodes and names are reused, so a file is identified while a process maps it:
// until it is unmapped, no other file has its inode.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/code/symbols/process/memory_map.h"

namespace atalaya::symbols {

// Sets the stamp of each mapped file. The mappings must belong to this process during the call. Mappings that are also in
// `earlier`, an earlier reading, get its stamps, because opening each file is expensive.
void set_stamps(int32_t pid, std::vector<Mapping> &mappings, std::span<const Mapping> earlier = {});

// Opens the file of a mapping. Returns an invalid descriptor if the file cannot be opened, or no longer has the mapping's stamp.
core::Descriptor open_stamped(int32_t pid, const Mapping &mapping);

}  // namespace atalaya::symbols
