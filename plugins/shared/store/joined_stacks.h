// SPDX-License-Identifier: Apache-2.0
// Stacks of several stores in order of time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "plugins/shared/store/store.h"

namespace atalaya::store {

// Keeps at most about `max_buffered` stacks at once, unless more have one time. Of equal ones the last store wins.
void merge_stacks(const std::vector<std::unique_ptr<Store>> &stores, const Selection &selection, size_t max_buffered,
                  const std::function<void(const Stack &)> &visitor);

}  // namespace atalaya::store
