// SPDX-License-Identifier: Apache-2.0
// The source "perf": CPU time and waits of the whole host, by stack.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/code/probes/regions.h"
#include "plugins/shared/code/tasks/task_params.h"
#include "plugins/shared/io/match/patterns.h"
#include "plugins/sources/perf/collector.h"
#include "plugins/sources/perf/perf_metrics.h"

namespace atalaya::perf {
namespace {

std::vector<probes::Region> regions_of(const Host &host) {
  if (!host.child("task_regions", 0)) return {};
  if (!host.boolean("tasks")) throw Failure(Code::bad_config, "task_regions requires tasks = true");
  return probes::regions_of(host, "task_regions");
}

int64_t burst_of(const Host &host) {
  const int64_t length = host.integer("wakers"), every = host.integer("wakers_every");
  if (length > every / 2) throw Failure(Code::bad_config, "wakers is longer than half of wakers_every; shorten the bursts");
  return length;
}

Options options_of(const Host &host) {
  const std::shared_ptr<tasks::TaskNames> tasks = tasks::read_task_names(host);
  const std::vector<probes::Region> regions = regions_of(host);
  const std::string profile = host.text("profile");
  const std::vector<std::string> tags = host.texts("tags");
  const auto has = [&tags](const char *tag) { return std::find(tags.begin(), tags.end(), tag) != tags.end(); };
  return {.sampler = {.frequency = static_cast<int>(host.integer("frequency")),
                      .event = host.text("event"),
                      .on_cpu = profile != "offcpu",
                      .off_cpu = profile != "cpu",
                      .min_wait_ns = host.integer("min_wait"),
                      .max_stacks = static_cast<uint32_t>(host.integer("max_stacks")),
                      .dwarf = host.text("unwind") != "fp",
                      .dwarf_if_needed = host.text("unwind") == "auto",
                      .dwarf_processes = io::read_patterns(host, "unwind_processes"),
                      .dwarf_memory = static_cast<size_t>(host.integer("symbol_memory")),
                      .run_queue = host.boolean("run_queue"),
                      .burst_ns = burst_of(host),
                      .burst_every_ns = host.integer("wakers_every"),
                      .task_threads = tasks ? tasks->prefixes() : std::vector<std::string>(),
                      .task_regions = probes::by_return(regions),
                      .min_task_ns = host.integer("task_min"),
                      .max_task_spans = static_cast<uint64_t>(host.integer("task_spans"))},
          .backend = host.text("backend"),
          .kernel = host.boolean("kernel"),
          .modules = host.boolean("modules"),
          .processes = io::read_patterns(host, "processes"),
          .cgroups = io::read_patterns(host, "cgroups"),
          .jvm = host.boolean("jvm"),
          .jvm_refresh_ns = host.integer("jvm_refresh"),
          .symbol_memory = static_cast<size_t>(host.integer("symbol_memory")),
          .container_tag = has("container"),
          .runtime_tag = has("runtime"),
          .reason_tag = has("reason"),
          .tasks = tasks,
          .task_regions = regions};
}

constexpr Param kPattern[] = {param::string("pattern", "A name, glob or ~regular expression")};
constexpr Param kRegionMembers[] = {
    param::string("name", "Value of the tag stage").required(),
    param::string("binary", "Program or library that contains the code; a missing file is waited for").required(),
    param::string("enter", "First function: ns::run, a name of the symbol table, or an address (0x401136)").required(),
    param::string("leave",
                  "Function whose call ends the region, or return (default: return). Write return if the binary has exceptions."),
};
constexpr Param kRegion[] = {param::record("", kRegionMembers, "A region")};
constexpr Param kTag[] = {param::choice("tag", "container|runtime|reason", "An extra tag")};

class Perf final : public CollectingSource<Collector> {
 public:
  static constexpr Param params[] = {
      param::integer("frequency", "Samples per second on each busy CPU; odd, to avoid lockstep with periodic work")
          .defaults("101")
          .unit("Hz")
          .range(1, 999),
      param::choice("profile", "cpu|offcpu|both", "Time on CPUs, waiting time, or both; waiting time requires BPF").defaults("cpu"),
      param::duration("min_wait", "Off-CPU: minimum wait to report").defaults("1ms").range(0, 1e12),
      param::list("processes", kPattern, "Only processes of these names, as the kernel has them (15 bytes)"),
      param::list("cgroups", kPattern, "Only processes in cgroups of these paths"),
      param::boolean("kernel", "Includes kernel frames").defaults("true"),
      param::boolean("modules",
                     "Keeps the file of a library with its frames, as malloc_[libc.so.6], for the colours of flame graphs")
          .defaults("false"),
      param::choice("unwind", "auto|fp|dwarf",
                    "Unwinds by frame pointers (fp) or .eh_frame tables (dwarf: BPF, Linux 5.15); auto chooses per process")
          .defaults("auto"),
      param::list("unwind_processes", kPattern, "Tables only for processes of these names; others use frame pointers"),
      param::choice("event", "auto|cycles|cpu-clock", "Event that triggers a sample: CPU time or CPU cycles; auto prefers time")
          .defaults("auto"),
      param::choice("backend", "auto|bpf|ring", "Counts stacks in the kernel (bpf) or here from a ring; auto prefers bpf")
          .defaults("auto"),
      param::integer("max_stacks", "Maximum distinct stacks per window; each takes 1.3 KB of kernel memory")
          .defaults("16384")
          .range(256, 262144),
      param::size("symbol_memory", "Memory for symbols; dwarf adds as much for unwind tables")
          .defaults("64 MiB")
          .range(1 << 20, 1099511627776.0),
      param::boolean("jvm", "Requests names of compiled code from JVMs 17 and later; they write a perf map to their /tmp")
          .defaults("true"),
      param::duration("jvm_refresh", "Minimum time between two requests to one JVM; it grows after failures")
          .defaults("1m")
          .range(1e9, 86400e9),
      param::list("tags", kTag, "Extra tags of stacks: short container id; runtime (jvm, node or python); reason of a wait"),
      param::boolean("run_queue", "Off-CPU: also reports waits of runnable threads for a CPU").defaults("false"),
      param::duration("wakers", "Length of a burst that records who ends waits, and how; requires BPF; 0s: no bursts")
          .defaults("0s")
          .range(0, 60e9),
      param::duration("wakers_every", "Time from the start of one burst to the start of the next")
          .defaults("1m")
          .range(1e9, 86400e9),
      tasks::kTasks,
      tasks::kTaskNames,
      param::list("task_regions", kRegion,
                  "Code regions whose runs are tasks, at most 64, as of the source uprobe; requires tasks and BPF"),
      param::duration("task_min", "Minimum length of a run of task_regions for a task").defaults("10ms").range(1e6, 86400e9),
      param::integer("task_spans", "Maximum spans per region of task_regions and second")
          .defaults("100")
          .unit("1/s")
          .range(1, 1000000),
  };
  // Each feature lists all that it needs: one drop-in file is enough.
  static constexpr Need needs[] = {
      need::file("/proc/sys/kernel/perf_event_paranoid", "the kernel has no perf events"),
      need::capability("CAP_PERFMON", "the kernel refuses to sample other users' processes"),
      need::optional_capability("CAP_PERFMON", "no samples", "bpf"),
      need::optional_capability("CAP_BPF", "stacks are read sample by sample, at several times the cost; no off-CPU profile",
                                "bpf"),
      need::optional_file("/sys/kernel/btf/vmlinux", "same effect as missing CAP_BPF", "bpf"),
      need::optional_capability("CAP_PERFMON", "no samples", "symbols"),
      need::optional_capability("CAP_SYS_PTRACE", "no function names in other users' processes", "symbols"),
      need::optional_capability("CAP_DAC_READ_SEARCH", "no names from programs and perf maps that only other users may read",
                                "symbols"),
      need::optional_capability("CAP_PERFMON", "no samples", "kallsyms"),
      need::optional_capability("CAP_SYSLOG", "no names of kernel functions", "kallsyms"),
      need::optional_capability("CAP_PERFMON", "no samples", "jvm"),
      need::optional_capability("CAP_SYS_PTRACE", "no names of Java code in other users' JVMs", "jvm"),
      need::optional_capability("CAP_SETUID", "no names of Java code in other users' JVMs; a JVM answers only its own user", "jvm"),
      need::optional_capability("CAP_SETGID", "no names of Java code in other users' JVMs", "jvm"),
      need::optional_capability("CAP_PERFMON", "no samples", "deleted"),
      need::optional_capability("CAP_SYS_PTRACE", "no names from deleted or replaced files", "deleted"),
      need::optional_capability("CAP_DAC_READ_SEARCH", "no names from deleted or replaced files", "deleted"),
      need::optional_capability("CAP_CHECKPOINT_RESTORE", "no names from deleted or replaced files", "deleted"),
  };
  static constexpr Description description = {.name = "perf"_str,
                                              .summary = "Profile CPU time and waits of the whole host by stack"_str,
                                              .params = params,
                                              .metrics = kMetrics,
                                              .needs = needs,
                                              .flags = ATALAYA_BLOCKING};

  explicit Perf(Host host) : CollectingSource(host, options_of(host)) {}
};

}  // namespace
}  // namespace atalaya::perf

ATALAYA_PLUGIN("perf", "0.1.0", "source perf", atalaya::perf::Perf)
