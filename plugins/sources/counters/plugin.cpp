// SPDX-License-Identifier: Apache-2.0
// The source "counters": what the hardware counts while the host, cgroups and chosen processes run.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "plugins/sources/counters/collector.h"
#include "plugins/sources/counters/counters_metrics.h"

namespace atalaya::counters {
namespace {

core::MatcherList matchers(const Host &host, const char *name) {
  const std::vector<std::string> patterns = host.texts(name);
  auto list = core::MatcherList::parse(patterns);
  if (!list) throw Failure(Code::bad_config, std::string(name) + ": " + list.error());
  return std::move(*list);
}

Groups groups(const Host &host) {
  Groups result;
  for (const std::string &name : host.texts("groups"))
    result.set(static_cast<size_t>(std::find(kGroupNames.begin(), kGroupNames.end(), name) - kGroupNames.begin()));
  if (result.none()) throw Failure(Code::bad_config, "groups: nothing is to be counted; name one, or leave it out for all");
  result[static_cast<size_t>(Group::clock)] = result[static_cast<size_t>(Group::software)];
  return result;
}

Options options_of(const Host &host) {
  return {.host = host.boolean("host"),
          .cores = host.boolean("cores"),
          .kernel = host.boolean("kernel"),
          .groups = groups(host),
          .processes = matchers(host, "processes"),
          .cgroups = matchers(host, "cgroups"),
          .max_processes = static_cast<size_t>(host.integer("max_processes")),
          .max_cgroups = static_cast<size_t>(host.integer("max_cgroups"))};
}

constexpr Param kPattern[] = {
    {.name = "pattern"_str, .type = ATALAYA_STRING, .summary = "A name, glob or ~regular expression."_str}};
constexpr Param kGroup[] = {{.name = "group"_str,
                             .type = ATALAYA_ENUM,
                             .allowed = "pipeline|branches|cache|llc|l1d|l1i|tlb|software"_str,
                             .summary = "Events that are counted together."_str}};

template <class T, size_t... sizes>
constexpr std::array<T, (sizes + ...)> joined(const std::array<T, sizes> &...parts) {
  std::array<T, (sizes + ...)> all{};
  auto at = all.begin();
  ((at = std::copy(parts.begin(), parts.end(), at)), ...);
  return all;
}

class Counters final : public Source {
 public:
  static constexpr std::array params = {
      Param{.name = "host"_str,
            .type = ATALAYA_BOOL,
            .default_text = "true"_str,
            .summary = "A sample of the host, all CPUs together."_str},
      Param{.name = "cores"_str,
            .type = ATALAYA_BOOL,
            .default_text = "false"_str,
            .summary = "In its place a sample of each core."_str},
      Param{.name = "processes"_str,
            .type = ATALAYA_LIST,
            .summary = "Samples of the processes of these names, as the kernel has them (15 bytes); absent: of none."_str,
            .items = kPattern,
            .item_count = 1,
            .item_size = sizeof(Param)},
      Param{.name = "cgroups"_str,
            .type = ATALAYA_LIST,
            .summary = "Samples of the cgroups of these paths, such as /system.slice/*; absent: of none."_str,
            .items = kPattern,
            .item_count = 1,
            .item_size = sizeof(Param)},
      Param{.name = "groups"_str,
            .type = ATALAYA_LIST,
            .default_text = "pipeline,branches,cache,llc,l1d,l1i,tlb,software"_str,
            .summary = "What is counted; with fewer groups each counts for more of the time."_str,
            .items = kGroup,
            .item_count = 1,
            .item_size = sizeof(Param)},
      Param{.name = "kernel"_str,
            .type = ATALAYA_BOOL,
            .default_text = "true"_str,
            .summary = "Also while the kernel runs; without it only programs are counted."_str},
      Param{.name = "max_processes"_str,
            .type = ATALAYA_INT,
            .flags = ATALAYA_BOUNDED,
            .default_text = "50"_str,
            .unit = "processes"_str,
            .summary =
                "At most so many; each takes as many descriptors as there are events, times its threads at its first sight."_str,
            .min = 1,
            .max = 10000},
      Param{.name = "max_cgroups"_str,
            .type = ATALAYA_INT,
            .flags = ATALAYA_BOUNDED,
            .default_text = "50"_str,
            .unit = "cgroups"_str,
            .summary = "At most so many; each takes as many descriptors as there are events, times the CPUs."_str,
            .min = 1,
            .max = 10000},
  };
  static constexpr auto metrics = joined(kHostMetrics, kCgroupMetrics, kProcessMetrics);
  static constexpr Need needs[] = {
      {ATALAYA_NEED_FILE, 0, "/proc/sys/kernel/perf_event_paranoid"_str, "the kernel has no perf events"_str},
      {ATALAYA_NEED_CAPABILITY, 0, "CAP_PERFMON"_str, "the kernel lets nobody count what other users do"_str},
      {ATALAYA_NEED_FILE, 1, "/sys/bus/event_source/devices/{cpu,cpu_core,armv8*,armv9*}"_str,
       "all but the kernel's own events: no hardware counts here, as in most virtual machines"_str, "hardware"_str},
  };
  static constexpr Description description = {.name = "counters"_str,
                                              .summary = "What CPUs count: instructions a cycle, caches, branches, switches"_str,
                                              .params = params,
                                              .metrics = metrics,
                                              .needs = needs,
                                              .flags = ATALAYA_BLOCKING};

  explicit Counters(Host host) : collector_(host, options_of(host)) {}
  void start() override { collector_.start(); }
  void stop() override { collector_.stop(); }
  Code collect(const Window &window, Batch &batch) override {
    collector_.collect(window, batch);
    return Code::ok;
  }

 private:
  Collector collector_;
};

}  // namespace
}  // namespace atalaya::counters

ATALAYA_PLUGIN("counters", "0.1.0", "source counters", atalaya::counters::Counters)
