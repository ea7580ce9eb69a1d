// SPDX-License-Identifier: Apache-2.0
// The source "uprobe": runs of configured code regions, measured by a pair of probes each, as spans.
#include <atalaya/plugin.hpp>

#include <string>

#include "plugins/shared/code/probes/regions.h"
#include "plugins/shared/io/match/patterns.h"
#include "plugins/sources/uprobe/collector.h"
#include "plugins/sources/uprobe/uprobe_metrics.h"

namespace atalaya::uprobe {
namespace {

Options options_of(const Host &host) {
  const auto job = host.find("job");
  return {.regions = probes::regions_of(host, "regions"),
          .processes = io::read_patterns(host, "processes"),
          .job = job ? std::string(job->text()) : std::string(),
          .min_ns = static_cast<uint64_t>(host.integer("min")),
          .max_events = static_cast<uint64_t>(host.integer("max_events"))};
}

constexpr Param kPattern[] = {param::string("pattern", "A name, glob or ~regular expression")};
constexpr Param kRegionMembers[] = {
    param::string("name", "Value of the tag name").required(),
    param::string("binary", "Program or library that contains the code; a missing file is waited for").required(),
    param::string("enter",
                  "First function: ns::parse, a name of the symbol table, or an address (0x401136); FUNCTION+24 is an instruction")
        .required(),
    param::string("leave",
                  "Function whose call ends the region, or return (default: return). Write return if the binary has exceptions."),
    param::string("bytes", "Amount of bytes: arg1 to arg5 (64-bit integer arguments), or return (the result)"),
};
constexpr Param kRegion[] = {param::record("", kRegionMembers, "A region")};

class Uprobe final : public CollectingSource<Collector> {
 public:
  static constexpr Param params[] = {
      param::list("regions", kRegion, "Code regions, at most 64, in all processes that run the binaries").required(),
      param::list("processes", kPattern, "Only processes of these names, as the kernel has them (15 bytes)"),
      param::string("job", "Value of the tag job (default: no tag)"),
      param::duration("min", "Minimum length of a run for a span; shorter runs are only counted").defaults("0s").range(0, 86400e9),
      param::integer("max_events", "Maximum spans per region and second; all runs are counted")
          .defaults("10000")
          .unit("1/s")
          .range(1, 1000000),
  };
  static constexpr Need needs[] = {
      need::capability("CAP_BPF", "no code regions; before Linux 6.6, CAP_BPF and CAP_PERFMON are not enough: run as root"),
      need::capability("CAP_PERFMON", "same effect as missing CAP_BPF"),
      need::file("/sys/kernel/btf/vmlinux", "same effect as missing CAP_BPF"),
      need::file("/sys/bus/event_source/devices/uprobe", "the kernel has no uprobes"),
      need::optional_capability("CAP_BPF", "no regions", "files"),
      need::optional_capability("CAP_PERFMON", "no regions", "files"),
      need::optional_capability("CAP_DAC_READ_SEARCH", "no regions of binaries that only other users may read", "files"),
  };
  static constexpr Description description = {.name = "uprobe"_str,
                                              .summary = "Trace named code regions: count, time and span of each run"_str,
                                              .params = params,
                                              .metrics = kMetrics,
                                              .needs = needs,
                                              .flags = ATALAYA_BLOCKING};

  explicit Uprobe(Host host) : CollectingSource(host, options_of(host)) {}
};

}  // namespace
}  // namespace atalaya::uprobe

ATALAYA_PLUGIN("uprobe", "0.1.0", "source uprobe", atalaya::uprobe::Uprobe)
