// SPDX-License-Identifier: Apache-2.0
// The source "proc": processes by BPF or from procfs, host and cgroups from procfs and sysfs.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <optional>

#include "plugins/shared/io/match/patterns.h"
#include "plugins/sources/proc/cgroup/cgroup_collector.h"
#include "plugins/sources/proc/cgroup/cgroup_metrics.h"
#include "plugins/sources/proc/host/host_collector.h"
#include "plugins/sources/proc/host/host_metrics.h"
#include "plugins/sources/proc/host/host_options.h"
#include "plugins/sources/proc/process/process_collector.h"

namespace atalaya::proc {
namespace {

constexpr Param kTagParam[] = {param::choice("tag", "user|parent|cgroup|unit|container", "An extra tag")};
constexpr Param kNamePattern[] = {param::string("", "A pattern for the kernel's name")};
constexpr Param kArgumentPattern[] = {param::string("", "A pattern for an argument")};
constexpr Param kCommandLines[] = {
    param::list("allow", kNamePattern, "Processes that get the tag, by the kernel's name").required(),
    param::list("redact", kArgumentPattern, "Arguments to hide in addition to known secrets; of an option, its value"),
};

// In KiB, as the gauge.
uint64_t rest_below(const Host &host) {
  if (!host.find("rest_below")) return UINT64_MAX;
  if (!host.find("rest")) throw Failure(Code::bad_config, "parameter \"rest_below\" needs the parameter \"rest\"");
  return static_cast<uint64_t>(host.integer("rest_below")) >> 10;
}

ProcessOptions process_options(const Host &host) {
  return {.root = host.text("root"),
          .backend = host.text("backend"),
          .kernel_threads = host.boolean("kernel_threads"),
          .active_only = host.boolean("active_only"),
          .tags = host.texts("tags"),
          .commands = {io::read_patterns(host, "command_lines.allow"), io::read_patterns(host, "command_lines.redact")},
          .expensive_budget = static_cast<size_t>(host.integer("expensive_budget")),
          .exited = host.boolean("exited"),
          .unattributed = host.boolean("unattributed"),
          .exited_groups = static_cast<size_t>(host.integer("exited_groups")),
          .idle_interval_ns = host.find("rest") ? host.integer("rest") : 0,
          .idle_below_kib = rest_below(host)};
}

constexpr auto kOwnParams = std::to_array<Param>({
    param::string("root", "Folder that holds proc, sys and etc: the host's root in a container, or a recorded tree").defaults("/"),
    param::boolean("processes", "Emit a sample per process").defaults("true"),
    param::boolean("host", "Emit samples of cores, memory, disks, interfaces, file systems and load").defaults("true"),
    param::boolean("cgroups", "Emit a sample per cgroup").defaults("true"),
    param::choice("backend", "auto|bpf|procfs",
                  "How processes are read: a BPF program or files of procfs; auto: bpf where it works")
        .defaults("auto"),
    param::boolean("kernel_threads", "Include kernel threads").defaults("true"),
    param::boolean("active_only", "Only processes that used CPU time in the window").defaults("false"),
    param::boolean(
        "exited",
        "Emit a sample without pid per name, parent and cgroup of processes that ended in the window; with pid for JVMs and "
        "interpreters that used half a second of CPU time")
        .defaults("true"),
    param::integer("exited_groups", "Maximum samples of ended processes per window, by CPU time; the rest is the process other")
        .defaults("100")
        .range(1, 10000),
    param::boolean("unattributed", "Emit CPU time charged to no process as the processes irq and unattributed").defaults("true"),
    param::duration("rest",
                    "Emit one sample per this time of a process that does not run; it covers all of that time (default: one per "
                    "window; backend bpf)")
        .range(1e8, 300e9),
    param::size("rest_below",
                "Only processes with less resident memory rest; larger ones have a sample per window (default: all rest)")
        .range(0, 9.2e18),
    param::list("tags", kTagParam, "Extra tags of processes"),
    param::record("command_lines", kCommandLines,
                  "The extra tag command: arguments of allowed processes, without secrets (default: none)"),
    param::integer("expensive_budget", "Processes per window whose open files are counted and extra tags read again")
        .defaults("32")
        .range(0, 1000000)
        .unit("processes"),
});

template <class T, size_t... sizes>
constexpr std::array<T, (sizes + ...)> joined(const std::array<T, sizes> &...parts) {
  std::array<T, (sizes + ...)> all{};
  auto at = all.begin();
  ((at = std::copy(parts.begin(), parts.end(), at)), ...);
  return all;
}

class Proc final : public Source {
 public:
  static constexpr auto params = joined(kOwnParams, kHostParams, kCgroupParams);
  static constexpr auto metrics = joined(kProcessMetrics, kHostMetrics, kCgroupMetrics);
  static constexpr Need needs[] = {
      need::file("/proc", "no metrics"),
      need::optional_capability("CAP_BPF",
                                "processes are read from procfs at ten times the cost; short ones are partly unattributed", "bpf"),
      need::optional_capability("CAP_PERFMON", "same effect as missing CAP_BPF", "bpf"),
      need::optional_file("/sys/kernel/btf/vmlinux", "same effect as missing CAP_BPF", "bpf"),
      need::optional_capability("CAP_NET_ADMIN", "without BPF: processes that end within a window count as unattributed", "exits"),
      need::optional_capability("CAP_SYS_PTRACE",
                                "with procfs: no proc.disk.*, proc.io.* and proc.files.open of other users' processes", "io"),
      need::optional_capability("CAP_DAC_READ_SEARCH", "same effect as missing CAP_SYS_PTRACE", "io"),
      need::optional_kernel("CONFIG_TASK_IO_ACCOUNTING", "no proc.disk.* and proc.io.*", "disk"),
      need::optional_kernel("CONFIG_SCHED_INFO", "no proc.cpu.delay", "delay"),
  };
  static constexpr Description description = {.name = "proc"_str,
                                              .summary = "Processes, host and cgroups from kernel counters"_str,
                                              .params = params,
                                              .metrics = metrics,
                                              .needs = needs,
                                              .flags = ATALAYA_HOLDS};

  explicit Proc(Host host) {
    if (host.boolean("processes")) processes_.emplace(host, process_options(host));
    if (host.boolean("host")) host_.emplace(host, host_options(host));
    if (host.boolean("cgroups")) cgroups_.emplace(host, cgroup_options(host));
  }
  void start() override {
    if (processes_) processes_->start();
    if (host_) host_->start();
    if (cgroups_) cgroups_->start();
  }
  void stop() override {
    if (processes_) processes_->stop();
    if (host_) host_->stop();
  }
  Code collect(const Window &window, Batch &batch) override {
    if ((window.flags & ATALAYA_WINDOW_LAST) != 0) {
      if (processes_) processes_->emit_idle_samples(batch);
      return Code::ok;
    }
    if (processes_) processes_->collect(window, batch);
    if (host_) host_->collect(window, batch);
    if (cgroups_) cgroups_->collect(window, batch);
    return Code::ok;
  }

 private:
  std::optional<ProcessCollector> processes_;
  std::optional<HostCollector> host_;
  std::optional<CgroupCollector> cgroups_;
};

}  // namespace
}  // namespace atalaya::proc

ATALAYA_PLUGIN("proc", "0.1.0", "source proc", atalaya::proc::Proc)
