// SPDX-License-Identifier: Apache-2.0
// The times in which processes were in phases of a name.
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
  // Phases whose name matches the pattern, with or without the digits of their functions ("Sort.merge" is "Sort.merge-7d04").
  PhaseTimes(const std::string &pattern, store::Store &store, const store::Range &range, query::Budget &budget);

  size_t phases() const { return phases_; }
  // At least half of the stack's window is in such a phase of its process.
  bool contains(const store::Stack &stack) const;

 private:
  using Process = std::pair<std::string, std::string>;  // host, pid
  std::map<Process, std::vector<store::Range>> times_;
  size_t phases_ = 0;
};

}  // namespace atalaya::flamegraph
