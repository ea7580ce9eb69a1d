// SPDX-License-Identifier: Apache-2.0
// Metrics of all layers for some hosts and windows: one series per metric and host, and the use of each program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/jobs/reasons/resource.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/store.h"

namespace atalaya::jobs {

// A task's phase, or a task, on a host.
struct Window {
  std::string host;
  int64_t begin_ns = 0, end_ns = 0;
};

// Windows of one finding, which are read together.
using Windows = std::vector<Window>;

// Programs of one name on a host, averages over the windows of that host.
struct Program {
  std::string name, host;
  double cpu = 0;   // % of a core
  double disk = 0;  // MiB/s read and written
};

// Instructions per cycle: the index of correlations, if known.
inline constexpr std::string_view kIpc = "sys.counters.ipc";

class Metrics {
 public:
  // Reads the metrics of these windows and hosts. `hosts` are all hosts that the spans name. Throws the exceptions of queries.
  static Metrics read(const std::vector<Windows> &sets, const std::set<std::string> &hosts, store::Store &store,
                      query::Budget &budget);

  // The names of the metrics, sorted.
  std::vector<std::string> names() const;
  bool has(std::string_view metric) const { return columns_.contains(metric); }
  // The metric's average in the window; nothing without data.
  std::optional<double> mean(std::string_view metric, const Window &window) const;
  // The average over several windows, weighted by length.
  std::optional<double> mean(std::string_view metric, const Windows &windows) const;
  // The programs in the windows of a set, by the index of the set. Digits in names are replaced by #: names that differ only in
  // numbers are one program.
  const std::vector<Program> &programs(size_t set) const { return programs_.at(set); }
  // Notes on host names that were matched by their first label.
  const std::vector<std::string> &notes() const { return notes_; }
  // The usual length of a window of sys.counters.ipc; 0 if the store has none.
  int64_t ipc_sample_ns() const { return ipc_sample_ns_; }
  // Number of cores of the host; 1 if unknown.
  double cores(const std::string &host) const {
    const auto found = cores_.find(host);
    return found == cores_.end() ? 1 : static_cast<double>(found->second.size());
  }

 private:
  friend class MetricsReader;
  // Consecutive intervals of a host's time: no window starts or ends within an interval, unless there would be too many.
  struct Bin {
    int64_t begin_ns = 0, end_ns = 0;
  };
  using Bins = std::vector<Bin>;
  struct Sums {
    std::vector<double> sum, weight;  // by bin: sum of value x ns, and sum of ns
  };
  struct Column {
    Combine combine = Combine::mean;
    std::map<std::string, Sums, std::less<>> hosts;
  };
  static Bins bins_of(Windows windows);
  static void join(Bins &time_intervals, int64_t gap);
  // The intervals that overlap the time: their indices and durations.
  template <class Visit>
  static void for_each_bin(const Bins &bins, int64_t begin_ns, int64_t end_ns, Visit &&visit);

  // Reserves part of the budget, and releases it at the end.
  class Reservation {
   public:
    explicit Reservation(query::Budget *budget = nullptr) : budget_(budget) {}
    Reservation(Reservation &&other) noexcept : budget_(other.budget_), points_(std::exchange(other.points_, 0)) {}
    Reservation &operator=(Reservation &&other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(points_, other.points_);
      return *this;
    }
    ~Reservation() {
      if (points_ > 0) budget_->release(points_);
    }
    void more(size_t points) {
      points_ += points;  // the budget has counted the points even if this call throws
      budget_->reserve(points);
    }

   private:
    query::Budget *budget_;
    size_t points_ = 0;
  };

  int64_t ipc_sample_ns_ = 0;
  std::map<std::string, Bins, std::less<>> bins_;  // by host
  std::map<std::string, Column, std::less<>> columns_;
  std::vector<std::vector<Program>> programs_ = std::vector<std::vector<Program>>(1);  // by set of windows
  std::vector<std::string> notes_;
  std::map<std::string, std::set<std::string>, std::less<>> cores_;  // by host
  Reservation held_;
};

}  // namespace atalaya::jobs
