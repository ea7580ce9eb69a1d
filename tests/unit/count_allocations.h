// SPDX-License-Identifier: Apache-2.0
// For tests that link the library count_allocations, which replaces operator new in the whole program.
#pragma once

#include <cstdint>

namespace atalaya::testing {

// How often operator new was called, by this thread and by all.
uint64_t allocations();
uint64_t allocations_of_all_threads();

}  // namespace atalaya::testing
