// SPDX-License-Identifier: Apache-2.0
// Merges the stacks of several stores in order of time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "plugins/shared/store/store.h"

namespace atalaya::store {

// Keeps about `max_buffered` stacks in memory at most, unless more have the same time. Of equal stacks, the one of the last
// store is used.
void merge_stacks(const std::vector<std::unique_ptr<Store>> &stores, const Selection &selection, size_t max_buffered,
                  const std::function<void(const Stack &)> &visitor);

}  // namespace atalaya::store
