// SPDX-License-Identifier: Apache-2.0
// The source "jvm": heap, collections and hot functions of every JVM of the host.
#include <atalaya/plugin.hpp>

#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/code/tasks/task_params.h"
#include "plugins/shared/io/match/patterns.h"
#include "plugins/sources/jvm/collector.h"
#include "plugins/sources/jvm/jvm_metrics.h"

namespace atalaya::jvm {
namespace {

Options options_of(const Host &host) {
  return {.processes = io::read_patterns(host, "processes"),
          .main = io::read_patterns(host, "main"),
          .profile = host.boolean("profile"),
          .sampler = {.budget = host.number("budget") / 100,
                      .min_interval_ns = host.integer("interval"),
                      .timeout_ns = host.integer("timeout"),
                      .all_threads = host.text("threads") == "all",
                      .tasks = tasks::read_task_names(host)},
          .top = static_cast<size_t>(host.integer("top")),
          .stacks = static_cast<size_t>(host.integer("stacks")),
          .flags = host.boolean("flags")};
}

constexpr Param kPattern[] = {param::string("pattern", "A name, glob or ~regular expression")};

class Jvm final : public CollectingSource<Collector> {
 public:
  static constexpr Param params[] = {
      param::list("processes", kPattern, "Only JVMs in processes of these names, as the kernel has them (15 bytes)"),
      param::list("main", kPattern, "Only JVMs with these main classes or jar files, as on their command line"),
      param::boolean("profile", "Takes thread dumps; false: only reads shared counters, without any effect on the JVMs")
          .defaults("true"),
      param::number("budget", "Maximum CPU cost, here and in all JVMs; limits the rate of thread dumps, equally for each JVM")
          .defaults("2")
          .unit("% of a core")
          .range(0.001, 50),
      param::duration("interval", "Minimum time between thread dumps of one JVM").defaults("10ms").range(1e6, 3600e9),
      param::duration("timeout", "Maximum time for an answer; after a timeout the JVM is retried much later")
          .defaults("2s")
          .range(1e8, 10e9),
      param::choice("threads", "running|all", "Stacks of running threads by CPU time, or of all threads by elapsed time")
          .defaults("running"),
      param::integer("top", "Functions reported per JVM: those with most CPU time of their own")
          .defaults("32")
          .unit("functions")
          .range(0, 10000),
      param::integer("stacks", "Maximum stacks per JVM and window, by time; the others are reported as [other]. 0: none.")
          .defaults("1000")
          .range(0, 65536),
      param::boolean("flags", "Reports the -X options of a JVM; properties, agents and arguments are never reported")
          .defaults("false"),
      tasks::kTasks,
      tasks::kTaskNames,
  };
  static constexpr Need needs[] = {
      need::optional_capability("CAP_SYS_PTRACE", "no JVMs of other users", "others"),
      need::optional_capability("CAP_SETUID", "no JVMs of other users; a JVM answers only its own user", "others"),
      need::optional_capability("CAP_SETGID", "no JVMs of other users", "others"),
  };
  static constexpr Description description = {.name = "jvm"_str,
                                              .summary = "Read heap, collections and hot functions of JVMs, without an agent"_str,
                                              .params = params,
                                              .metrics = kMetrics,
                                              .needs = needs,
                                              .flags = ATALAYA_BLOCKING};

  explicit Jvm(Host host) : CollectingSource(host, options_of(host)) {}
};

}  // namespace
}  // namespace atalaya::jvm

ATALAYA_PLUGIN("jvm", "0.1.0", "source jvm", atalaya::jvm::Jvm)
