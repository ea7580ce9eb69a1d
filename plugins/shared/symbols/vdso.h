// SPDX-License-Identifier: Apache-2.0
// The kernel's own code in every process: there is no file, and this process has the same.
#pragma once

#include <cstddef>
#include <span>

#include "plugins/shared/symbols/memory_map.h"

namespace atalaya::symbols {

// Its bytes in this process; empty: there is none.
std::span<const std::byte> own_vdso();
// False: that process has another one, of programs of 32 bits.
bool is_own_vdso(const Mapping &mapping);

}  // namespace atalaya::symbols
