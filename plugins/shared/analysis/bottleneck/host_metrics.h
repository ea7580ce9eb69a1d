// SPDX-License-Identifier: Apache-2.0
// What all layers showed of some hosts in some windows: one series a metric and host, and what each program used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/bottleneck/resource.h"
#include "plugins/shared/analysis/query/budget.h"
#include "plugins/shared/store/store.h"

namespace atalaya::bottleneck {

// A task's phase, or a task, on a host.
struct Window {
  std::string host;
  int64_t begin_ns = 0, end_ns = 0;
};

// Windows that are looked at together: those of one finding.
using Windows = std::vector<Window>;

// Programs of one name on a host, averages over the windows of that host.
struct Program {
  std::string name, host;
  double cpu = 0;   // % of a core
  double disk = 0;  // MiB/s read and written
};

// Instructions per cycle: what metrics are correlated with where it is known.
inline constexpr std::string_view kIpc = "sys.counters.ipc";

class Metrics {
 public:
  // Of the hosts and the time of all these windows, where `hosts` are all that the spans name. Throws as queries do.
  static Metrics read(const std::vector<Windows> &sets, const std::set<std::string> &hosts, store::Store &store,
                      query::Budget &budget);

  // By name.
  std::vector<std::string> names() const;
  bool has(std::string_view metric) const { return columns_.contains(metric); }
  // The metric's average in the window; nothing where nothing is known of it.
  std::optional<double> mean(std::string_view metric, const Window &window) const;
  // Over several windows, the longer ones counting more.
  std::optional<double> mean(std::string_view metric, const Windows &windows) const;
  // In the windows of a set, by its place. Names with the digits of each as #: what differs in numbers only is one program.
  const std::vector<Program> &programs(size_t set) const { return programs_.at(set); }
  // Which hosts of the store are the windows'.
  const std::vector<std::string> &notes() const { return notes_; }
  // The usual length of a window of the instructions per cycle; 0 where the store has none.
  int64_t ipc_sample_ns() const { return ipc_sample_ns_; }
  // How many the host has; 1 where that is not known.
  double cores(const std::string &host) const {
    const auto found = cores_.find(host);
    return found == cores_.end() ? 1 : static_cast<double>(found->second.size());
  }

 private:
  friend class MetricsReader;
  // Stretches of a host's time, one behind the other: no window begins or ends within one of them, but where they would be too
  // many.
  struct Bin {
    int64_t begin_ns = 0, end_ns = 0;
  };
  using Bins = std::vector<Bin>;
  struct Sums {
    std::vector<double> sum, weight;  // value x ns, and ns, by bin
  };
  struct Column {
    Combine combine = Combine::mean;
    std::map<std::string, Sums, std::less<>> hosts;
  };
  static Bins bins_of(Windows windows);
  static void join(Bins &stretches, int64_t gap);
  // Those that overlap the time: the place of each, and for how long.
  template <class Visit>
  static void each_bin(const Bins &bins, int64_t begin_ns, int64_t end_ns, Visit &&visit);

  // What the budget is asked for, until it goes.
  class Held {
   public:
    explicit Held(query::Budget *budget = nullptr) : budget_(budget) {}
    Held(Held &&other) noexcept : budget_(other.budget_), points_(std::exchange(other.points_, 0)) {}
    Held &operator=(Held &&other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(points_, other.points_);
      return *this;
    }
    ~Held() {
      if (points_ > 0) budget_->release(points_);
    }
    void more(size_t points) {
      points_ += points;  // the budget has counted them when it throws
      budget_->hold(points);
    }

   private:
    query::Budget *budget_;
    size_t points_ = 0;
  };

  int64_t ipc_sample_ns_ = 0;
  std::map<std::string, Bins, std::less<>> bins_;  // of hosts
  std::map<std::string, Column, std::less<>> columns_;
  std::vector<std::vector<Program>> programs_ = std::vector<std::vector<Program>>(1);  // by set
  std::vector<std::string> notes_;
  std::map<std::string, std::set<std::string>, std::less<>> cores_;  // of hosts
  Held held_;
};

}  // namespace atalaya::bottleneck
