// SPDX-License-Identifier: Apache-2.0
// The source "proc": processes from the kernel's task iterator or procfs, host and cgroups from procfs and sysfs.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <optional>

#include "plugins/sources/proc/cgroup/cgroup_collector.h"
#include "plugins/sources/proc/cgroup/cgroup_metrics.h"
#include "plugins/sources/proc/host/host_collector.h"
#include "plugins/sources/proc/host/host_metrics.h"
#include "plugins/sources/proc/host/host_options.h"
#include "plugins/sources/proc/process/process_collector.h"

namespace atalaya::proc {
namespace {

constexpr Param kTagParam[] = {
    {.name = "tag"_str, .type = ATALAYA_ENUM, .allowed = "user|parent|cgroup|unit|container"_str, .summary = "An extra tag."_str}};

constexpr Param kNamePattern[] = {{.type = ATALAYA_STRING, .summary = "A pattern for the kernel's name."_str}};
constexpr Param kArgumentPattern[] = {{.type = ATALAYA_STRING, .summary = "A pattern for an argument."_str}};
constexpr Param kCommandLines[] = {
    {.name = "allow"_str,
     .type = ATALAYA_LIST,
     .flags = ATALAYA_REQUIRED,
     .summary = "Processes that have the tag, by the name that the kernel gives them."_str,
     .items = kNamePattern,
     .item_count = 1,
     .item_size = sizeof(Param)},
    {.name = "redact"_str,
     .type = ATALAYA_LIST,
     .summary = "Arguments that are hidden beside the secrets that are known: all of it, or of an option what follows."_str,
     .items = kArgumentPattern,
     .item_count = 1,
     .item_size = sizeof(Param)},
};

core::MatcherList patterns(const Host &host, const char *path) {
  const std::vector<std::string> texts = host.texts(path);
  auto list = core::MatcherList::parse(texts);
  if (!list) throw Failure(Code::bad_config, "parameter \"" + std::string(path) + "\": " + list.error());
  return std::move(*list);
}

ProcessOptions process_options(const Host &host) {
  return {.root = host.text("root"),
          .backend = host.text("backend"),
          .kernel_threads = host.boolean("kernel_threads"),
          .active_only = host.boolean("active_only"),
          .tags = host.texts("tags"),
          .commands = {patterns(host, "command_lines.allow"), patterns(host, "command_lines.redact")},
          .expensive_budget = static_cast<size_t>(host.integer("expensive_budget")),
          .exited = host.boolean("exited"),
          .unattributed = host.boolean("unattributed"),
          .exited_groups = static_cast<size_t>(host.integer("exited_groups"))};
}

constexpr std::array kOwnParams = {
    Param{
        .name = "root"_str,
        .type = ATALAYA_STRING,
        .default_text = "/"_str,
        .summary = "The folder that holds proc, sys and etc: another host's recorded tree, or the host's root in a container."_str},
    Param{.name = "processes"_str, .type = ATALAYA_BOOL, .default_text = "true"_str, .summary = "A sample of each process."_str},
    Param{.name = "host"_str,
          .type = ATALAYA_BOOL,
          .default_text = "true"_str,
          .summary = "Samples of cores, memory, disks, interfaces, file systems and load."_str},
    Param{.name = "cgroups"_str, .type = ATALAYA_BOOL, .default_text = "true"_str, .summary = "A sample of each cgroup."_str},
    Param{.name = "backend"_str,
          .type = ATALAYA_ENUM,
          .default_text = "auto"_str,
          .allowed = "auto|bpf|procfs"_str,
          .summary = "How processes are read: by a program in the kernel (bpf) or from files; auto takes bpf where it works."_str},
    Param{.name = "kernel_threads"_str,
          .type = ATALAYA_BOOL,
          .default_text = "true"_str,
          .summary = "Kernel threads too; they have no memory of their own."_str},
    Param{.name = "active_only"_str,
          .type = ATALAYA_BOOL,
          .default_text = "false"_str,
          .summary = "Only processes that used CPU time in the window."_str},
    Param{.name = "exited"_str,
          .type = ATALAYA_BOOL,
          .default_text = "true"_str,
          .summary = "A sample for the processes of one name, parent and cgroup that ended in the window: without a pid."_str},
    Param{.name = "exited_groups"_str,
          .type = ATALAYA_INT,
          .flags = ATALAYA_BOUNDED,
          .default_text = "100"_str,
          .summary = "At most so many of these a window, those with the most CPU time; the rest together is the process other."_str,
          .min = 1,
          .max = 10000},
    Param{.name = "unattributed"_str,
          .type = ATALAYA_BOOL,
          .default_text = "true"_str,
          .summary =
              "The CPU time that the host counted and no process was charged with, as the processes irq and unattributed."_str},
    Param{.name = "tags"_str,
          .type = ATALAYA_LIST,
          .summary = "Extra tags of processes."_str,
          .items = kTagParam,
          .item_count = 1,
          .item_size = sizeof(Param)},
    Param{.name = "command_lines"_str,
          .type = ATALAYA_RECORD,
          .summary = "The extra tag command: arguments without secrets, of the processes that are allowed; absent: of none."_str,
          .items = kCommandLines,
          .item_count = std::size(kCommandLines),
          .item_size = sizeof(Param)},
    Param{
        .name = "expensive_budget"_str,
        .type = ATALAYA_INT,
        .flags = ATALAYA_BOUNDED,
        .default_text = "32"_str,
        .unit = "processes"_str,
        .summary =
            "Processes a window whose open files are counted and extra tags read again: the busiest and, in turn, the others."_str,
        .min = 0,
        .max = 1000000},
};

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
      {ATALAYA_NEED_FILE, 0, "/proc"_str, "everything is read from it"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_BPF"_str,
       "processes are read from procfs, at ten times the cost; short ones are in part unattributed"_str, "bpf"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_PERFMON"_str, "as without CAP_BPF"_str, "bpf"_str},
      {ATALAYA_NEED_FILE, 1, "/sys/kernel/btf/vmlinux"_str, "as without CAP_BPF"_str, "bpf"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_NET_ADMIN"_str,
       "without BPF: processes that end within a window, all of which is then unattributed"_str, "exits"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_SYS_PTRACE"_str,
       "with procfs: proc.disk.*, proc.io.* and proc.files.open of other users' processes"_str, "io"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_DAC_READ_SEARCH"_str, "as without CAP_SYS_PTRACE"_str, "io"_str},
      {ATALAYA_NEED_KERNEL, 1, "CONFIG_TASK_IO_ACCOUNTING"_str, "proc.disk.* and proc.io.*"_str, "disk"_str},
      {ATALAYA_NEED_KERNEL, 1, "CONFIG_SCHED_INFO"_str, "proc.cpu.delay"_str, "delay"_str},
  };
  static constexpr Description description = {.name = "proc"_str,
                                              .summary = "Processes, host and cgroups as the kernel counts them"_str,
                                              .params = params,
                                              .metrics = metrics,
                                              .needs = needs};

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
