// SPDX-License-Identifier: Apache-2.0
// The kernel's code in every process (vDSO): it has no file, but this process has the same.
#pragma once

#include <cstddef>
#include <span>

#include "plugins/shared/code/symbols/process/memory_map.h"

namespace atalaya::symbols {

// Its bytes in this process; empty: none.
std::span<const std::byte> own_vdso();
// False: that process has the vDSO of 32-bit programs.
bool is_own_vdso(const Mapping &mapping);

}  // namespace atalaya::symbols
