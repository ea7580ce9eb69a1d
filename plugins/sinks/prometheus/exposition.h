// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "plugins/sinks/prometheus/series_table.h"

namespace atalaya::prometheus {

enum class Form : uint8_t { text, openmetrics };
// The header Content-Type of the form.
const char *content_type(Form form);

// Writes the values of a snapshot that are not stale. Reused from scrape to scrape, so that its memory is allocated once.
class Exposition {
 public:
  Exposition(const Staleness &staleness, bool timestamps) : staleness_(staleness), timestamps_(timestamps) {}

  void write(const Snapshot &snapshot, Form form, std::string &out);

 private:
  void sort(const Snapshot &snapshot);
  void append_series(const Series &series, const Metric &metric, Form form, std::string &out) const;

  const Staleness staleness_;
  const bool timestamps_;
  std::vector<uint32_t> fresh_;  // indices of the series that are not stale
  std::vector<uint32_t> order_;  // the same indices, grouped by metric
  std::vector<uint32_t> first_positions_,
      next_positions_;           // by metric: its first position in order_, and the next free one (counting sort)
  std::vector<uint32_t> names_;  // indices of the metrics, sorted by name
};

}  // namespace atalaya::prometheus
