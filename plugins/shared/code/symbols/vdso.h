// SPDX-License-Identifier: Apache-2.0
// The vDSO (vdso(7)), the kernel's code in every process: it has no file, but all 64-bit processes have equal bytes.
#pragma once

#include <cstddef>
#include <span>

#include "plugins/shared/code/symbols/process/memory_map.h"

namespace atalaya::symbols {

// The bytes of the vDSO in this process; empty if there is none.
std::span<const std::byte> own_vdso();
// Whether the mapping is the same vDSO. False for the vDSO of a 32-bit program.
bool is_own_vdso(const Mapping &mapping);

}  // namespace atalaya::symbols
