// SPDX-License-Identifier: Apache-2.0
// The source "uprobe": code regions that the operator names, seen by a pair of probes each, as spans.
#include <atalaya/plugin.hpp>

#include <string>
#include <utility>
#include <vector>

#include "plugins/sources/uprobe/collector.h"
#include "plugins/sources/uprobe/uprobe_metrics.h"

namespace atalaya::uprobe {
namespace {

std::vector<Region> regions_of(const Host &host) {
  std::vector<RegionText> texts;
  for (uint64_t i = 0; host.child("regions", i); ++i) {
    const std::string path = "regions[" + std::to_string(i) + "].";
    const auto text_of = [&](const char *member) {
      const auto value = host.find(path + member);
      return value ? std::string(value->text()) : std::string();
    };
    texts.push_back({.name = host.text(path + "name"),
                     .binary = host.text(path + "binary"),
                     .enter = host.text(path + "enter"),
                     .leave = text_of("leave"),
                     .bytes = text_of("bytes")});
  }
  auto regions = parse_regions(texts);
  if (!regions) throw Failure(Code::bad_config, "parameter \"regions\": " + regions.error());
  return std::move(*regions);
}

Options options_of(const Host &host) {
  auto processes = core::MatcherList::parse(host.texts("processes"));
  if (!processes) throw Failure(Code::bad_config, "parameter \"processes\": " + processes.error());
  const auto job = host.find("job");
  return {.regions = regions_of(host),
          .processes = std::move(*processes),
          .job = job ? std::string(job->text()) : std::string(),
          .min_ns = static_cast<uint64_t>(host.integer("min")),
          .max_told = static_cast<uint64_t>(host.integer("max_events"))};
}

constexpr Param kPattern[] = {
    {.name = "pattern"_str, .type = ATALAYA_STRING, .summary = "A name, glob or ~regular expression."_str}};
constexpr Param kRegionMembers[] = {
    {.name = "name"_str, .type = ATALAYA_STRING, .flags = ATALAYA_REQUIRED, .summary = "What it is called, in the tag name."_str},
    {.name = "binary"_str,
     .type = ATALAYA_STRING,
     .flags = ATALAYA_REQUIRED,
     .summary = "The program or library that has the code. One that is not there yet is waited for."_str},
    {.name = "enter"_str,
     .type = ATALAYA_STRING,
     .flags = ATALAYA_REQUIRED,
     .summary = "The function that it begins with, as people write it without parameters (ns::parse), as the symbol table has it, "
                "or by its address "
                "there (0x401136); FUNCTION+24 is an instruction within it."_str},
    {.name = "leave"_str,
     .type = ATALAYA_STRING,
     .summary =
         "Where it ends: the function that is called then, or return, where the first one returns. The latter is meant without it, "
         "but has to be written where the binary has exceptions: one that leaves the function would end the program."_str},
    {.name = "bytes"_str,
     .type = ATALAYA_STRING,
     .summary =
         "What tells how many bytes a run is about: arg1 to arg5, an integer of 64 bits given to the function, or return, what "
         "it gives back."_str},
};
constexpr Param kRegion[] = {{.type = ATALAYA_RECORD,
                              .summary = "A region."_str,
                              .items = kRegionMembers,
                              .item_count = sizeof(kRegionMembers) / sizeof(Param),
                              .item_size = sizeof(Param)}};

class Uprobe final : public Source {
 public:
  static constexpr Param params[] = {
      {.name = "regions"_str,
       .type = ATALAYA_LIST,
       .flags = ATALAYA_REQUIRED,
       .summary = "The code regions, 64 at most; all processes that run the binaries are seen."_str,
       .items = kRegion,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "processes"_str,
       .type = ATALAYA_LIST,
       .summary = "Only processes of these names, as the kernel has them (15 bytes)."_str,
       .items = kPattern,
       .item_count = 1,
       .item_size = sizeof(Param)},
      {.name = "job"_str, .type = ATALAYA_STRING, .summary = "A tag job that all of them get; absent: none."_str},
      {.name = "min"_str,
       .type = ATALAYA_DURATION,
       .flags = ATALAYA_BOUNDED,
       .default_text = "0s"_str,
       .summary = "Shorter runs are counted, and are no spans."_str,
       .min = 0,
       .max = 86400e9},
      {.name = "max_events"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "10000"_str,
       .unit = "1/s"_str,
       .summary = "Runs of a region that become spans in a second at most; all are counted."_str,
       .min = 1,
       .max = 1000000},
  };
  static constexpr Need needs[] = {
      {ATALAYA_NEED_CAPABILITY, 0, "CAP_BPF"_str,
       "nothing: regions are seen by programs in the kernel; before Linux 6.6 these two do not do, it takes root"_str},
      {ATALAYA_NEED_CAPABILITY, 0, "CAP_PERFMON"_str, "as without CAP_BPF"_str},
      {ATALAYA_NEED_FILE, 0, "/sys/kernel/btf/vmlinux"_str, "as without CAP_BPF"_str},
      {ATALAYA_NEED_FILE, 0, "/sys/bus/event_source/devices/uprobe"_str, "the kernel has no uprobes"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_BPF"_str, "no regions"_str, "files"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_PERFMON"_str, "no regions"_str, "files"_str},
      {ATALAYA_NEED_CAPABILITY, 1, "CAP_DAC_READ_SEARCH"_str, "regions of binaries that not all may read"_str, "files"_str},
  };
  static constexpr Description description = {.name = "uprobe"_str,
                                              .summary =
                                                  "Code regions that you name: each run of a function as a span, and how often and "
                                                  "how long, by a pair of probes in the kernel"_str,
                                              .params = params,
                                              .metrics = kMetrics,
                                              .needs = needs,
                                              .flags = ATALAYA_BLOCKING};

  explicit Uprobe(Host host) : collector_(host, options_of(host)) {}
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
}  // namespace atalaya::uprobe

ATALAYA_PLUGIN("uprobe", "0.1.0", "source uprobe", atalaya::uprobe::Uprobe)
