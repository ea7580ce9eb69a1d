// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/protocols/prometheus/exposition.h"
#include "plugins/sinks/prometheus/series_table.h"

namespace atalaya::prometheus {

// Writes the current values of a snapshot. Reused, so that a scrape needs no new memory in steady state.
class SnapshotText {
 public:
  SnapshotText(const Staleness &staleness, bool timestamps) : staleness_(staleness), timestamps_(timestamps) {}

  void write(const Snapshot &snapshot, Form form, std::string &out);

 private:
  void sort(const Snapshot &snapshot);

  const Staleness staleness_;
  const bool timestamps_;
  std::vector<uint32_t> shown_;            // series
  std::vector<uint32_t> order_;            // the same series, sorted by metric
  std::vector<uint32_t> begins_, places_;  // by metric, in order_: index of the first series, and the next free index
  std::vector<uint32_t> names_;            // indices of metrics, sorted by name
};

}  // namespace atalaya::prometheus
