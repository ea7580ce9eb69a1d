// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace atalaya::store {

// Returns the ends of blocks of points with ascending times. The times of a block are in one interval of fixed length: the
// shortest length with enough points on average. Empty if there is only one block.
std::vector<size_t> block_ends(std::span<const int64_t> times_ns);

}  // namespace atalaya::store
