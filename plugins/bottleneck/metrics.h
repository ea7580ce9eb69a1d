// SPDX-License-Identifier: Apache-2.0
// What all layers showed of some hosts in a time: one series a metric and host, and what each program used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/bottleneck/resource.h"
#include "plugins/query/budget.h"
#include "plugins/store/store.h"

namespace atalaya::bottleneck {

// A task's phase, or a task, on a host.
struct Window {
  std::string host;
  int64_t begin_ns = 0, end_ns = 0;
};

// Programs of one name on a host, averages over the windows of that host.
struct Program {
  std::string name, host;
  double cpu = 0;   // % of a core
  double disk = 0;  // MiB/s read and written
};

class Metrics {
 public:
  // Of the hosts and the time of these windows. Throws as queries do.
  static Metrics read(const std::vector<Window> &windows, store::Store &store, query::Budget &budget);

  // By name.
  std::vector<std::string> names() const;
  bool has(std::string_view metric) const { return columns_.contains(metric); }
  // The metric's average in the window; nothing where nothing is known of it.
  std::optional<double> mean(std::string_view metric, const Window &window) const;
  // Names with the digits of each as #: what differs in numbers only is one program.
  const std::vector<Program> &programs() const { return programs_; }
  // The usual length of a sample's window.
  int64_t sample_ns() const { return sample_ns_; }

 private:
  friend class MetricsReader;
  struct Bins {
    std::vector<double> sum, weight;  // value x ns, and ns
  };
  struct Column {
    Combine combine = Combine::mean;
    std::map<std::string, Bins, std::less<>> hosts;
  };

  int64_t begin_ns_ = 0, step_ns_ = 1, sample_ns_ = 0;
  size_t count_ = 0;  // of bins
  std::map<std::string, Column, std::less<>> columns_;
  std::vector<Program> programs_;
};

}  // namespace atalaya::bottleneck
