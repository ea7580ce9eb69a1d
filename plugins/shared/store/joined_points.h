// SPDX-License-Identifier: Apache-2.0
// Merges the points of series that several stores have, in ascending time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/shared/store/store.h"

namespace atalaya::store {

// The series of one store, and the index of each for the visitor.
struct StoreParts {
  std::vector<Series> series;
  std::vector<size_t> places;
};
// Reads intervals of time with at most `max_buffered` points, unless more have the same time. Of points with the same time, the
// one of the last store is used.
void merge_points(const std::vector<std::unique_ptr<Store>> &stores, const std::vector<StoreParts> &parts, const Range &range,
                  size_t max_buffered, PointVisitor &visitor);

}  // namespace atalaya::store
