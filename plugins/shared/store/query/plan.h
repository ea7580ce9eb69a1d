// SPDX-License-Identifier: Apache-2.0
// Divides the series of a query into groups, one per answer, and selects some of the groups.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"
#include "plugins/shared/store/query/windows/collector.h"

namespace atalaya::query {

// The series of one answer.
struct Group {
  std::vector<std::string> key;  // the metric, and the values of the keys of the group
  std::vector<size_t> series;
};

struct Plan {
  Range range;  // the range to scan
  std::vector<store::Series> series;
  std::vector<Group> groups;  // sorted by key, which is the order of answers
  std::shared_ptr<const store::Collection> collection;
  std::vector<const store::CollectedTime *> collected;  // collected time of each series, in `collection`

  // The plan for some groups, with their series only.
  Plan part(size_t begin, size_t end) const;
};

// Throws as `selected` does.
Plan plan_of(const Query &query, store::Store &store, Budget &budget);
// Throws if a function needs points of the series that were rolled up. Releases the points that it reads from the budget.
void check_points(const Query &query, const Plan &plan, store::Store &store, Budget &budget);
std::vector<Answer> answers_of(const Query &query, Plan &plan, store::Store &store, Budget &budget);

}  // namespace atalaya::query
