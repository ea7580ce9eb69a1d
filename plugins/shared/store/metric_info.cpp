// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/metric_info.h"

#include <utility>
#include <vector>

#include "plugins/shared/match/matcher.h"

namespace atalaya::store {
namespace {

// The first one that fits has it.
constexpr MetricInfo kInfos[] = {
    {"proc.exits*", Kind::delta, "1"},
    {"span.bytes*", Kind::gauge_or_rate, "By"},
    {"span.gc.time", Kind::gauge_or_rate, "ms"},
    {"span.given_up", Kind::gauge_or_rate, "1"},
    {"span.outcome", Kind::gauge_or_rate, "1"},
    {"span.records", Kind::gauge_or_rate, "1"},
    {"span.spills", Kind::gauge_or_rate, "1"},
    {"region.attached", Kind::gauge_or_rate, "1"},
    {"region.time", Kind::delta, "ns"},
    {"region.*", Kind::delta, "1"},
    {"btrace.spans.open", Kind::gauge_or_rate, "1"},
    {"btrace.profile.invocations", Kind::total, "1"},
    {"btrace.profile.*.total", Kind::total, "ns"},
    {"btrace.profile.*", Kind::gauge_or_rate, "ns"},
    {"btrace.unseen.bytes", Kind::delta, "By"},
    {"btrace.lines", Kind::delta, "1"},
    {"btrace.lines.*", Kind::delta, "1"},
    {"btrace.truncations", Kind::delta, "1"},
    {"btrace.spans.*", Kind::delta, "1"},
    {"btrace.errors", Kind::delta, "1"},
    {"btrace.dropped", Kind::delta, "1"},
    {"btrace.overflows", Kind::delta, "1"},
    {"btrace.*", Kind::gauge_or_rate, ""},  // fields of programs: what they count is not known, and their names say nothing of it
    {"fact.number", Kind::gauge_or_rate, "1"},
    {"inventory.facts", Kind::gauge_or_rate, "1"},
    {"inventory.*", Kind::delta, "1"},
    {"*.counters.ipc", Kind::gauge_or_rate, "1"},
    {"*.counters.*.mpki", Kind::gauge_or_rate, "1"},
    {"*.counters.*.share", Kind::gauge_or_rate, "%"},
    {"*.counters.stalled.*", Kind::gauge_or_rate, "%"},
    {"*.counters.running", Kind::gauge_or_rate, "%"},
    {"*.counters.cpu", Kind::gauge_or_rate, "%"},
    {"*.counters.*", Kind::gauge_or_rate, "1/s"},
    {"jvm.function.self", Kind::gauge_or_rate, "s/s"},
    {"jvm.heap.*", Kind::gauge_or_rate, "By"},
    {"jvm.profile.rate", Kind::gauge_or_rate, "1/s"},
    {"jvm.profile.c*", Kind::gauge_or_rate, "%"},
    {"jvm.profile.pause", Kind::gauge_or_rate, "%"},
    {"jvm.profile.unseen", Kind::gauge_or_rate, "%"},
    {"jvm.profile.*", Kind::delta, "1"},
    {"jvm.source.cost", Kind::gauge_or_rate, "%"},
    {"jvm.threads.started", Kind::delta, "1"},
    {"jvm.threads.*", Kind::gauge_or_rate, "1"},
    {"jvm.safepoint.sync", Kind::gauge_or_rate, "%"},
    {"jvm.*.time", Kind::gauge_or_rate, "%"},
    {"jvm.*.seconds", Kind::total, "s"},
    {"jvm.*.count", Kind::total, "1"},
    {"jvm.classes.*", Kind::total, "1"},
    {"jvm.compile.failed", Kind::total, "1"},
    {"jvm.compile.*", Kind::delta, "1"},
    {"jvm.safepoint.*", Kind::delta, "1"},
    {"jvm.gc.*", Kind::delta, "1"},
    {"jvm.*", Kind::gauge_or_rate, "1"},
    {"*.energy*", Kind::delta, "J"},
    {"*.power", Kind::gauge_or_rate, "W"},
    {"*.temp", Kind::gauge_or_rate, "Cel"},
    {"*.mhz*", Kind::gauge_or_rate, "MHz"},
    {"gpu.rc6", Kind::gauge_or_rate, "%"},
    {"sys.battery.charge", Kind::gauge_or_rate, "%"},
    {"sys.sensor.fan", Kind::gauge_or_rate, "1/min"},
    {"sys.cpu.cstate.entries", Kind::gauge_or_rate, "1/s"},
    {"sys.cpu.interrupts", Kind::gauge_or_rate, "1/s"},
    {"sys.cpu.smi", Kind::delta, "1"},
    {"sys.cpu.throttles", Kind::delta, "1"},
    {"sys.mem.throttled", Kind::gauge_or_rate, "%"},
    {"*.oom.kills", Kind::delta, "1"},
    {"flow.*.bytes", Kind::delta, "By"},
    {"*.rtt", Kind::gauge_or_rate, "ms"},
    {"flow.*", Kind::delta, "1"},
    {"profile.samples", Kind::delta, "1"},
    {"profile.ns", Kind::delta, "ns"},
    {"profile.cpu", Kind::delta, "ns"},
    {"perf.cpu.*", Kind::gauge_or_rate, "%"},
    {"perf.symbols.memory", Kind::gauge_or_rate, "MiB"},
    {"perf.*", Kind::delta, "1"},
    {"proc.net.tcp.retransmits", Kind::gauge_or_rate, "1/s"},
    {"proc.net.tcp.connections", Kind::gauge_or_rate, "1"},
    {"proc.net.tcp.connects", Kind::delta, "1"},
    {"proc.net.tcp.accepts", Kind::delta, "1"},
    {"proc.net.tcp.failures", Kind::delta, "1"},
    {"proc.net.lost", Kind::delta, "1"},
    {"self.cpu.*", Kind::gauge_or_rate, "%"},
    {"self.busy", Kind::gauge_or_rate, "%"},
    {"self.mem.*", Kind::gauge_or_rate, "MiB"},
    {"self.queue.bytes", Kind::gauge_or_rate, "By"},
    {"self.queue.samples", Kind::gauge_or_rate, "1"},
    {"self.files", Kind::gauge_or_rate, "1"},
    {"self.threads", Kind::gauge_or_rate, "1"},
    {"self.*", Kind::total, "1"},
    {"cgroup.cpu.limit", Kind::gauge_or_rate, "{core}"},
    {"cgroup.cpu.throttled.periods", Kind::gauge_or_rate, "1/s"},
    {"cgroup.cpu.throttled.time", Kind::gauge_or_rate, "ms/s"},
    {"*.cpu.*", Kind::gauge_or_rate, "%"},
    {"cgroup.mem.*", Kind::gauge_or_rate, "MiB"},
    {"*.pressure.*", Kind::gauge_or_rate, "%"},
    {"*.usage", Kind::gauge_or_rate, "%"},
    {"proc.disk.*.mb", Kind::gauge_or_rate, "MiB/s"},
    {"sys.disk.*.mb", Kind::gauge_or_rate, "MiB/s"},
    {"sys.disk.*.await", Kind::gauge_or_rate, "ms"},
    {"sys.disk.*.time", Kind::gauge_or_rate, "ms/s"},
    {"sys.disk.queue", Kind::gauge_or_rate, "1"},
    {"*.net.*.mb", Kind::gauge_or_rate, "Mibit/s"},
    {"*.bytes", Kind::gauge_or_rate, "B/s"},
    {"*.ios", Kind::gauge_or_rate, "1/s"},
    {"*.merges", Kind::gauge_or_rate, "1/s"},
    {"*.packets", Kind::gauge_or_rate, "1/s"},
    {"*.net.*.errors", Kind::gauge_or_rate, "1/s"},
    {"*.net.*.drops", Kind::gauge_or_rate, "1/s"},
    {"*.calls", Kind::gauge_or_rate, "1/s"},
    {"*.faults.*", Kind::gauge_or_rate, "1/s"},
    {"*.switches.*", Kind::gauge_or_rate, "1/s"},
    {"*.mem.*", Kind::gauge_or_rate, "MiB"},
    {"sys.swap.*", Kind::gauge_or_rate, "MiB"},
    {"sys.fs.inodes.*", Kind::gauge_or_rate, "1"},
    {"sys.fs.*", Kind::gauge_or_rate, "MiB"},
    {"proc.threads", Kind::gauge_or_rate, "1"},
    {"proc.state", Kind::gauge_or_rate, "1"},
    {"proc.parent.pid", Kind::gauge_or_rate, "1"},
    {"proc.files.open", Kind::gauge_or_rate, "1"},
    {"proc.start.time", Kind::gauge_or_rate, "ns"},
    {"cgroup.tasks*", Kind::gauge_or_rate, "1"},
    {"sys.load.*", Kind::gauge_or_rate, "1"},
    {"sys.context.switches", Kind::gauge_or_rate, "1/s"},
    {"sys.interrupts*", Kind::gauge_or_rate, "1/s"},
    {"sys.tasks.created", Kind::gauge_or_rate, "1/s"},
    {"sys.tasks.*", Kind::gauge_or_rate, "1"},
    {"sys.uptime", Kind::gauge_or_rate, "s"},
    {"sys.clock.synced", Kind::gauge_or_rate, "1"},
    {"sys.clock.*", Kind::gauge_or_rate, "ms"},
};

using Rule = std::pair<core::Matcher, const MetricInfo *>;

std::vector<Rule> make_rules() {
  std::vector<Rule> rules;
  for (const MetricInfo &info : kInfos) rules.emplace_back(core::Matcher::parse(info.pattern).value(), &info);
  return rules;
}

}  // namespace

const MetricInfo &metric_info(std::string_view metric) {
  static const std::vector<Rule> rules = make_rules();
  static const MetricInfo unknown;
  for (const auto &[matcher, info] : rules)
    if (matcher.matches(metric)) return *info;
  return unknown;
}

std::string_view shown_unit(std::string_view metric) {
  const std::string_view unit = metric_info(metric).unit;
  return unit == "1" ? "" : unit;
}

}  // namespace atalaya::store
