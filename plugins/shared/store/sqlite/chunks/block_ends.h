// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace atalaya::store {

// The ends of blocks of points, whose ascending times lie in one stretch each: the shortest one that has enough points on average.
// None where they would be one block.
std::vector<size_t> block_ends(std::span<const int64_t> times_ns);

}  // namespace atalaya::store
