// SPDX-License-Identifier: Apache-2.0
// Lines for the log about samples that were dropped: which component, how many, why, and the remedy. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/ledger/ledger.h"

namespace atalaya::core {

class DropReport {
 public:
  // `before`: the rows at the start; earlier drops, which a spool remembers, are not reported.
  explicit DropReport(const std::vector<LedgerRow> &before);

  // A line for each reason of a component with new drops: the first at once, then at most one a minute. `now_ns`: monotonic.
  // Samples that a filter was written to drop ("filtered") are not reported.
  std::vector<std::string> lines(const std::vector<LedgerRow> &rows, int64_t now_ns);

 private:
  struct Reported {
    int64_t samples = 0, at_ns = 0;
    bool ever = false;
  };
  using Component = std::pair<std::string, std::string>;                            // pipeline, component
  std::map<std::tuple<std::string, std::string, std::string>, Reported> reported_;  // and the reason
  std::map<Component, uint64_t> spools_;
  void skip_earlier(const LedgerRow &row);
};

// What an operator can change; "" if the reason says it.
std::string_view remedy_of_drop(std::string_view reason);

}  // namespace atalaya::core
