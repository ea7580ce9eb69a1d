// SPDX-License-Identifier: Apache-2.0
// The source "counters": hardware and software events of the host, cgroups and chosen processes.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "plugins/shared/io/match/patterns.h"
#include "plugins/sources/counters/collector.h"
#include "plugins/sources/counters/counters_metrics.h"

namespace atalaya::counters {
namespace {

Groups groups(const Host &host) {
  Groups result;
  for (const std::string &name : host.texts("groups"))
    result.set(static_cast<size_t>(std::find(kGroupNames.begin(), kGroupNames.end(), name) - kGroupNames.begin()));
  if (result.none()) throw Failure(Code::bad_config, "parameter \"groups\" is empty; name a group, or omit the parameter for all");
  result[static_cast<size_t>(Group::clock)] = result[static_cast<size_t>(Group::software)];
  return result;
}

Options options_of(const Host &host) {
  return {.host = host.boolean("host"),
          .cores = host.boolean("cores"),
          .kernel = host.boolean("kernel"),
          .groups = groups(host),
          .processes = io::read_patterns(host, "processes"),
          .cgroups = io::read_patterns(host, "cgroups"),
          .max_processes = static_cast<size_t>(host.integer("max_processes")),
          .max_cgroups = static_cast<size_t>(host.integer("max_cgroups"))};
}

constexpr Param kPattern[] = {param::string("pattern", "A name, glob or ~regular expression")};
constexpr Param kGroup[] = {param::choice("group", "pipeline|branches|cache|llc|l1d|l1i|tlb|software", "Events counted together")};

template <class T, size_t... sizes>
constexpr std::array<T, (sizes + ...)> joined(const std::array<T, sizes> &...parts) {
  std::array<T, (sizes + ...)> all{};
  auto at = all.begin();
  ((at = std::copy(parts.begin(), parts.end(), at)), ...);
  return all;
}

class Counters final : public CollectingSource<Collector> {
 public:
  static constexpr Param params[] = {
      param::boolean("host", "Emit a sample of the host, all CPUs together").defaults("true"),
      param::boolean("cores", "Emit a sample per core instead of one of the host").defaults("false"),
      param::list("processes", kPattern, "Processes to sample, by the kernel's name of 15 bytes (default: none)"),
      param::list("cgroups", kPattern, "Cgroups to sample, by path, such as /system.slice/* (default: none)"),
      param::list("groups", kGroup, "Groups of events; with fewer groups, each counts for more of the time")
          .defaults("pipeline,branches,cache,llc,l1d,l1i,tlb,software"),
      param::boolean("kernel", "Also count while the kernel runs").defaults("true"),
      param::integer("max_processes", "Maximum number of processes; each takes a descriptor per event and thread")
          .defaults("50")
          .range(1, 10000)
          .unit("processes"),
      param::integer("max_cgroups", "Maximum number of cgroups; each takes a descriptor per event and CPU")
          .defaults("50")
          .range(1, 10000)
          .unit("cgroups"),
  };
  static constexpr auto metrics = joined(kHostMetrics, kCgroupMetrics, kProcessMetrics);
  static constexpr Need needs[] = {
      need::file("/proc/sys/kernel/perf_event_paranoid", "no metrics: the kernel has no perf events"),
      need::capability("CAP_PERFMON", "no metrics: counting other users' processes is not permitted"),
      need::optional_file("/sys/bus/event_source/devices/{cpu,cpu_core,armv8*,armv9*}",
                          "no hardware events, as in most virtual machines", "hardware"),
  };
  static constexpr Description description = {
      .name = "counters"_str,
      .summary = "CPU event counters: instructions per cycle, caches, branches, switches"_str,
      .params = params,
      .metrics = metrics,
      .needs = needs,
      .flags = ATALAYA_BLOCKING};

  explicit Counters(Host host) : CollectingSource(host, options_of(host)) {}
};

}  // namespace
}  // namespace atalaya::counters

ATALAYA_PLUGIN("counters", "0.1.0", "source counters", atalaya::counters::Counters)
