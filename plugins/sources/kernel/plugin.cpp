// SPDX-License-Identifier: Apache-2.0
// The source "kernel": events that the kernel reports, as spans and counts.
#include <atalaya/plugin.hpp>

#include "plugins/sources/kernel/collector.h"

namespace atalaya::kernel {
namespace {

Options options_of(const Host &host) {
  return {.root = host.text("root"), .throttled = host.boolean("throttled")};
}

class Kernel final : public CollectingSource<Collector> {
 public:
  static constexpr Param params[] = {
      param::string("root", "Folder that holds proc, sys and dev: the host's root in a container").defaults("/"),
      param::boolean("throttled", "Report throttled cgroups").defaults("true"),
  };
  static constexpr Need needs[] = {
      need::file("/proc", "no read-only file systems and no cgroups"),
      need::optional_capability("CAP_SYSLOG", "no crashes, and no exact count of OOM kills", "log"),
      need::optional_file("/dev/kmsg", "same effect as missing CAP_SYSLOG", "log"),
      need::optional_capability("CAP_BPF", "no cgroups of frequent OOM kills", "bpf"),
      need::optional_capability("CAP_PERFMON", "same effect as missing CAP_BPF", "bpf"),
      need::optional_file("/sys/kernel/btf/vmlinux", "same effect as missing CAP_BPF", "bpf"),
  };
  static constexpr Description description = {.name = "kernel"_str,
                                              .summary = "OOM kills, crashes, throttled cgroups, read-only file systems"_str,
                                              .params = params,
                                              .metrics = kMetrics,
                                              .needs = needs,
                                              .flags = ATALAYA_BLOCKING};

  explicit Kernel(Host host) : CollectingSource(host, options_of(host)) {}
};

}  // namespace
}  // namespace atalaya::kernel

ATALAYA_PLUGIN("kernel", "0.1.0", "source kernel", atalaya::kernel::Kernel)
