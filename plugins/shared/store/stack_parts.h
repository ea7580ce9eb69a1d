// SPDX-License-Identifier: Apache-2.0
// Computes the part of a stack in a range. Its samples count as evenly distributed over its window, because their exact times
// are unknown.
#pragma once

#include <cstdint>
#include <functional>

#include "plugins/shared/store/store.h"

namespace atalaya::store {

constexpr int64_t kLongestWindow = 86'400'000'000'000;  // ns; a pipeline collects at least once a day

// Returns the range of the ends of windows that may overlap the range.
Range window_ends(const Range &range);
// Calls the visitor with the part of the stack in the range, if there is one.
void visit_part(const Stack &whole, const Range &range, const std::function<void(const Stack &)> &visitor);

}  // namespace atalaya::store
