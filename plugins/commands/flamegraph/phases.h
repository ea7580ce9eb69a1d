// SPDX-License-Identifier: Apache-2.0
// The ranges of time in which processes were in selected phases.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/store.h"

namespace atalaya::flamegraph {

class PhaseTimes {
 public:
  // Reads the phases whose name matches the pattern, with or without its hash suffix ("Sort.merge" matches "Sort.merge-7d04").
  PhaseTimes(const std::string &pattern, store::Store &store, const store::Range &range, query::Budget &budget);

  size_t phases() const { return phases_; }
  // Whether at least half of the stack's window is in a selected phase of its process.
  bool contains(const store::Stack &stack) const;

 private:
  using Process = std::pair<std::string, std::string>;  // host, pid
  std::map<Process, std::vector<store::Range>> times_;
  size_t phases_ = 0;
};

}  // namespace atalaya::flamegraph
