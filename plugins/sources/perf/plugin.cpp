// SPDX-License-Identifier: Apache-2.0
// The source "perf": where CPU time goes on the whole host, and where threads wait, by stack.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "plugins/sources/perf/collector.h"
#include "plugins/sources/perf/perf_metrics.h"

namespace atalaya::perf {
namespace {

core::MatcherList matchers(const Host &host, const char *name) {
  const std::vector<std::string> patterns = host.texts(name);
  auto list = core::MatcherList::parse(patterns);
  if (!list) throw Failure(Code::bad_config, std::string(name) + ": " + list.error());
  return std::move(*list);
}

Options options_of(const Host &host) {
  const std::string profile = host.text("profile");
  const std::vector<std::string> tags = host.texts("tags");
  const auto has = [&tags](const char *tag) { return std::find(tags.begin(), tags.end(), tag) != tags.end(); };
  return {.sampler = {.frequency = static_cast<int>(host.integer("frequency")),
                      .event = host.text("event"),
                      .on_cpu = profile != "offcpu",
                      .off_cpu = profile != "cpu",
                      .min_wait_ns = host.integer("min_wait"),
                      .max_stacks = static_cast<uint32_t>(host.integer("max_stacks")),
                      .dwarf = host.text("unwind") == "dwarf",
                      .dwarf_processes = matchers(host, "unwind_processes"),
                      .dwarf_memory = static_cast<size_t>(host.integer("symbol_memory")) / 2},
          .backend = host.text("backend"),
          .kernel = host.boolean("kernel"),
          .processes = matchers(host, "processes"),
          .cgroups = matchers(host, "cgroups"),
          .jvm = host.boolean("jvm"),
          .jvm_refresh_ns = host.integer("jvm_refresh"),
          .symbol_memory = static_cast<size_t>(host.integer("symbol_memory")),
          .container_tag = has("container"),
          .runtime_tag = has("runtime")};
}

constexpr Param kPattern[] = {
    {.name = "pattern"_str, .type = ATALAYA_STRING, .summary = "A name, glob or ~regular expression."_str}};
constexpr Param kTag[] = {
    {.name = "tag"_str, .type = ATALAYA_ENUM, .allowed = "container|runtime"_str, .summary = "An extra tag."_str}};

class Perf final : public Source {
 public:
  static constexpr std::array params = {
      Param{.name = "frequency"_str,
            .type = ATALAYA_INT,
            .flags = ATALAYA_BOUNDED,
            .default_text = "101"_str,
            .unit = "Hz"_str,
            .summary = "Samples a second on each CPU that works; odd, so as not to beat with what programs do regularly."_str,
            .min = 1,
            .max = 999},
      Param{.name = "profile"_str,
            .type = ATALAYA_ENUM,
            .default_text = "cpu"_str,
            .allowed = "cpu|offcpu|both"_str,
            .summary = "On CPUs, or waiting: that takes BPF and a hook at each switch from one thread to another."_str},
      Param{.name = "min_wait"_str,
            .type = ATALAYA_DURATION,
            .flags = ATALAYA_BOUNDED,
            .default_text = "1ms"_str,
            .summary = "Off-CPU: shorter waits are not told."_str,
            .min = 0,
            .max = 1e12},
      Param{.name = "processes"_str,
            .type = ATALAYA_LIST,
            .summary = "Only processes of these names, as the kernel has them (15 bytes)."_str,
            .items = kPattern,
            .item_count = 1,
            .item_size = sizeof(Param)},
      Param{.name = "cgroups"_str,
            .type = ATALAYA_LIST,
            .summary = "Only processes in cgroups of these paths."_str,
            .items = kPattern,
            .item_count = 1,
            .item_size = sizeof(Param)},
      Param{.name = "kernel"_str,
            .type = ATALAYA_BOOL,
            .default_text = "true"_str,
            .summary = "The kernel's part of stacks too."_str},
      Param{.name = "unwind"_str,
            .type = ATALAYA_ENUM,
            .default_text = "fp"_str,
            .allowed = "fp|dwarf"_str,
            .summary =
                "How callers are found: by frame pointers, or by the tables of programs and libraries (.eh_frame) in a copy of "
                "the stack; that takes BPF and Linux 5.15."_str},
      Param{.name = "unwind_processes"_str,
            .type = ATALAYA_LIST,
            .summary = "With dwarf: only processes of these names, the others by frame pointers."_str,
            .items = kPattern,
            .item_count = 1,
            .item_size = sizeof(Param)},
      Param{.name = "event"_str,
            .type = ATALAYA_ENUM,
            .default_text = "auto"_str,
            .allowed = "auto|cycles|cpu-clock"_str,
            .summary =
                "What makes a sample due: time on a CPU, or its cycles, of which a sample stands for fewer where a CPU is seldom "
                "busy; auto takes time."_str},
      Param{.name = "backend"_str,
            .type = ATALAYA_ENUM,
            .default_text = "auto"_str,
            .allowed = "auto|bpf|ring"_str,
            .summary =
                "Where stacks are counted: in the kernel (bpf) or here, each sample handed over (ring); auto takes bpf where it "
                "works."_str},
      Param{.name = "max_stacks"_str,
            .type = ATALAYA_INT,
            .flags = ATALAYA_BOUNDED,
            .default_text = "16384"_str,
            .summary = "Distinct stacks of a window that there is room for, at 1.3 KB of the kernel's memory each."_str,
            .min = 256,
            .max = 262144},
      Param{.name = "symbol_memory"_str,
            .type = ATALAYA_SIZE,
            .flags = ATALAYA_BOUNDED,
            .default_text = "64 MiB"_str,
            .summary =
                "Names kept, and with dwarf half as much for tables; files not used for longest make room and are read again."_str,
            .min = 1 << 20,
            .max = 1099511627776.0},
      Param{.name = "jvm"_str,
            .type = ATALAYA_BOOL,
            .default_text = "true"_str,
            .summary =
                "JVMs (17 and later) seen on a CPU are asked for the names of their code: Compiler.perfmap, which they write to "
                "their /tmp."_str},
      Param{.name = "jvm_refresh"_str,
            .type = ATALAYA_DURATION,
            .flags = ATALAYA_BOUNDED,
            .default_text = "1m"_str,
            .summary = "Each at most so often; one that does not answer ever more seldom."_str,
            .min = 1e9,
            .max = 86400e9},
      Param{.name = "tags"_str,
            .type = ATALAYA_LIST,
            .summary = "Extra tags of stacks: the container's short id, and jvm, node or python."_str,
            .items = kTag,
            .item_count = 1,
            .item_size = sizeof(Param)},
  };
  // Each feature with all that it takes: a drop-in is enough by itself.
  static constexpr Need needs[] = {
      {ATALAYA_NEED_FILE, 0, "/proc/sys/kernel/perf_event_paranoid"_str, "the kernel has no perf events"_str},
      {ATALAYA_NEED_CAPABILITY, 0, "CAP_PERFMON"_str, "the kernel lets nobody sample other users' processes"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_PERFMON"_str, "no samples"_str, "bpf"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_BPF"_str, "each sample is handed over, at several times the cost; no off-CPU profile"_str,
       "bpf"_str},
      {ATALAYA_NEED_FILE, 1, "/sys/kernel/btf/vmlinux"_str, "as without CAP_BPF"_str, "bpf"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_PERFMON"_str, "no samples"_str, "symbols"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_SYS_PTRACE"_str, "names of functions in other users' processes"_str, "symbols"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_DAC_READ_SEARCH"_str, "names from programs and perf maps that not all may read"_str,
       "symbols"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_PERFMON"_str, "no samples"_str, "kallsyms"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_SYSLOG"_str, "names of the kernel's functions"_str, "kallsyms"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_PERFMON"_str, "no samples"_str, "jvm"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_SYS_PTRACE"_str, "names of Java code of other users' JVMs"_str, "jvm"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_SETUID"_str, "the same: a JVM answers its own user"_str, "jvm"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_SETGID"_str, "the same"_str, "jvm"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_PERFMON"_str, "no samples"_str, "deleted"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_SYS_PTRACE"_str,
       "names from files that were deleted or replaced while programs run them"_str, "deleted"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_DAC_READ_SEARCH"_str, "the same"_str, "deleted"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_CHECKPOINT_RESTORE"_str, "the same"_str, "deleted"_str},
  };
  static constexpr Description description = {.name = "perf"_str,
                                              .summary = "Where CPU time goes, by stack: the whole host, sampled in the kernel"_str,
                                              .params = params,
                                              .metrics = kMetrics,
                                              .needs = needs,
                                              .flags = ATALAYA_BLOCKING};

  explicit Perf(Host host) : collector_(host, options_of(host)) {}
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
}  // namespace atalaya::perf

ATALAYA_PLUGIN("perf", "0.1.0", "source perf", atalaya::perf::Perf)
