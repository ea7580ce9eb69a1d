// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace atalaya::testing {

// How often the program has called operator new.
uint64_t allocations();

}  // namespace atalaya::testing
