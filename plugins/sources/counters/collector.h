// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/io/match/matcher.h"
#include "plugins/sources/counters/counters_metrics.h"
#include "plugins/sources/counters/entities.h"
#include "plugins/sources/counters/event_set.h"
#include "plugins/sources/counters/pmu.h"
#include "plugins/sources/counters/tally.h"

namespace atalaya::counters {

struct Options {
  std::string root = "/";
  bool host = true, cores = false, kernel = true;
  Groups groups = Groups().set();
  io::MatcherList processes, cgroups;  // empty: none
  size_t max_processes = 50, max_cgroups = 50;
  size_t max_events = std::numeric_limits<size_t>::max();  // maximum open descriptors
};

class Collector {
 public:
  Collector(Host host, Options options, PerfCalls &calls = kernel_calls());
  void start();
  void stop();
  void collect(const Window &window, Batch &batch);

 private:
  // The open events of one entity (host, process or cgroup), on all its CPUs or threads.
  struct Target {
    std::vector<EventSet> sets;
    int64_t read_ns = 0;     // clock time of the last reading, to detect impossible counts
    int64_t reading_ns = 0;  // time of the window, for rates
    bool seen = false;       // still exists in this window
  };
  struct ProcessTarget {
    Process process;
    Target target;
  };
  struct CgroupTarget {
    uint64_t inode = 0;
    Target target;
  };
  template <size_t size>
  using Ids = std::array<uint32_t, size>;
  using Tag = std::pair<uint32_t, std::string_view>;

  void find_events();
  void log_missing(const Slots &wanted, const Slots &counted);
  uint32_t pmu_of(int cpu) const;
  int open_on_cpus(Target &target, const std::vector<int> &cpus, const Scope &scope, const Slots &slots);

  void refresh();
  void refresh_host(const std::vector<int> &cpus);
  void refresh_processes();
  void refresh_cgroups(const std::vector<int> &cpus);
  int open_process(const Process &process);
  void refresh_cgroup(const std::vector<int> &cpus, std::string_view path, uint64_t inode, int folder);
  void warn_skipped(std::string_view entity, int error);

  Values read(Target &target);
  void emit(Batch &batch, std::span<const Metric> metrics, std::span<const uint32_t> ids, const Values &values,
            std::initializer_list<Tag> tags) const;
  void emit_all(Batch &batch, bool baseline);

  Host host_;
  Options options_;
  Ids<kHostMetrics.size()> host_ids_{};
  Ids<kCgroupMetrics.size()> cgroup_ids_{};
  Ids<kProcessMetrics.size()> process_ids_{};
  uint32_t core_, cgroup_, pid_, process_;

  Opener opener_;
  std::vector<Pmu> pmus_;
  Slots slots_;  // selected events that this host counts
  std::optional<ProcessList> process_list_;
  std::optional<CgroupList> cgroup_list_;
  std::map<int, Target> hosts_;  // by core; -1: all cores
  std::map<int32_t, ProcessTarget> processes_;
  std::map<std::string, CgroupTarget, std::less<>> cgroups_;
  int64_t reading_ns_ = 0;  // monotonic time of the window
  std::set<std::string> warnings_;
};

}  // namespace atalaya::counters
