// SPDX-License-Identifier: Apache-2.0
// Log lines about dropped samples: component, number, reason, remedy. One thread.
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
  // `before`: the rows at the start. Their drops, which a spool has counted in earlier runs, are not reported.
  explicit DropReport(const std::vector<LedgerRow> &before);

  // Returns a line for each component and reason with new drops, at most one per minute for each. `now_ns`: CLOCK_MONOTONIC.
  // Samples that a filter drops by its task ("filtered") are not reported.
  std::vector<std::string> lines(const std::vector<LedgerRow> &rows, int64_t now_ns);

 private:
  struct Reported {
    int64_t samples = 0, at_ns = 0;
    bool ever = false;
  };
  using Component = std::pair<std::string, std::string>;                            // pipeline, component
  std::map<std::tuple<std::string, std::string, std::string>, Reported> reported_;  // by pipeline, component, reason
  std::map<Component, uint64_t> spools_;                                            // ids of the components' spools
  void skip_earlier(const LedgerRow &row);
};

// The remedy for the operator; "" if the reason includes it.
std::string_view remedy_of_drop(std::string_view reason);

}  // namespace atalaya::core
