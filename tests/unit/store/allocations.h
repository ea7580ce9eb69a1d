// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace atalaya::store::test {

// How often `new` was called by this program.
uint64_t allocations();

}  // namespace atalaya::store::test
