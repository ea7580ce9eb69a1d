// SPDX-License-Identifier: Apache-2.0
// The file behind a mapping. Numbers of files are used again and names are given to others, so a file is what it was when it was
// looked at while the process had it mapped; as long as that is so, its number is nobody else's.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/symbols/memory_map.h"

namespace atalaya::symbols {

// Notes of each mapped file which one it is. The process has to be the one that the mappings are of, then and afterwards.
void note_files(int32_t pid, std::vector<Mapping> &mappings);

// The file as it was noted; closed: it cannot be opened, or is another one by now.
core::Descriptor open_noted(int32_t pid, const Mapping &mapping);

}  // namespace atalaya::symbols
