// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/otlp/otlp_names.h"

#include <algorithm>
#include <iterator>

namespace atalaya::protocols {
namespace {

using Shape = OtlpMetric::Shape;

constexpr double kMebi = 1048576;
constexpr double kMebibit = kMebi / 8;  // in bytes
constexpr double kPercent = 0.01;

// In the order of their names.
constexpr OtlpMetric kMetrics[] = {
    {"jvm.classes.loaded", "jvm.class.loaded", "{class}"},
    {"jvm.classes.unloaded", "jvm.class.unloaded", "{class}"},
    {"jvm.heap.capacity", "jvm.memory.committed", "By", 1, Shape::gauge, "jvm.memory.type", "heap"},
    {"jvm.heap.used", "jvm.memory.used", "By", 1, Shape::gauge, "jvm.memory.type", "heap"},
    {"jvm.threads.live", "jvm.thread.count", "{thread}"},
    {"proc.cpu.kernel", "process.cpu.time", "s", kPercent, Shape::amount, "cpu.mode", "system"},
    {"proc.cpu.user", "process.cpu.time", "s", kPercent, Shape::amount, "cpu.mode", "user"},
    {"proc.disk.reads.mb", "process.disk.io", "By", kMebi, Shape::amount, "disk.io.direction", "read"},
    {"proc.disk.writes.mb", "process.disk.io", "By", kMebi, Shape::amount, "disk.io.direction", "write"},
    {"proc.faults.major", "process.paging.faults", "{fault}", 1, Shape::amount, "process.paging.fault_type", "major"},
    {"proc.faults.minor", "process.paging.faults", "{fault}", 1, Shape::amount, "process.paging.fault_type", "minor"},
    {"proc.mem.resident", "process.memory.usage", "By", kMebi},
    {"proc.mem.virtual", "process.memory.virtual", "By", kMebi},
    {"proc.switches.involuntary", "process.context_switches", "{context_switch}", 1, Shape::amount, "process.context_switch_type",
     "involuntary"},
    {"proc.switches.voluntary", "process.context_switches", "{context_switch}", 1, Shape::amount, "process.context_switch_type",
     "voluntary"},
    {"proc.threads", "process.thread.count", "{thread}"},
    {"sys.cpu.idle", "system.cpu.time", "s", kPercent, Shape::amount, "cpu.mode", "idle"},
    {"sys.cpu.irq", "system.cpu.time", "s", kPercent, Shape::amount, "cpu.mode", "interrupt"},
    {"sys.cpu.kernel", "system.cpu.time", "s", kPercent, Shape::amount, "cpu.mode", "system"},
    {"sys.cpu.steal", "system.cpu.time", "s", kPercent, Shape::amount, "cpu.mode", "steal"},
    {"sys.cpu.user", "system.cpu.time", "s", kPercent, Shape::amount, "cpu.mode", "user"},
    {"sys.cpu.wait", "system.cpu.time", "s", kPercent, Shape::amount, "cpu.mode", "iowait"},
    {"sys.disk.read.ios", "system.disk.operations", "{operation}", 1, Shape::amount, "disk.io.direction", "read"},
    {"sys.disk.read.mb", "system.disk.io", "By", kMebi, Shape::amount, "disk.io.direction", "read"},
    {"sys.disk.write.ios", "system.disk.operations", "{operation}", 1, Shape::amount, "disk.io.direction", "write"},
    {"sys.disk.write.mb", "system.disk.io", "By", kMebi, Shape::amount, "disk.io.direction", "write"},
    {"sys.mem.available", "system.linux.memory.available", "By", kMebi},
    {"sys.mem.free", "system.memory.usage", "By", kMebi, Shape::gauge, "system.memory.state", "free"},
    {"sys.mem.total", "system.memory.limit", "By", kMebi},
    {"sys.net.in.drops", "system.network.dropped", "{packet}", 1, Shape::amount, "network.io.direction", "receive"},
    {"sys.net.in.errors", "system.network.errors", "{error}", 1, Shape::amount, "network.io.direction", "receive"},
    {"sys.net.in.mb", "system.network.io", "By", kMebibit, Shape::amount, "network.io.direction", "receive"},
    {"sys.net.in.packets", "system.network.packets", "{packet}", 1, Shape::amount, "network.io.direction", "receive"},
    {"sys.net.out.drops", "system.network.dropped", "{packet}", 1, Shape::amount, "network.io.direction", "transmit"},
    {"sys.net.out.errors", "system.network.errors", "{error}", 1, Shape::amount, "network.io.direction", "transmit"},
    {"sys.net.out.mb", "system.network.io", "By", kMebibit, Shape::amount, "network.io.direction", "transmit"},
    {"sys.net.out.packets", "system.network.packets", "{packet}", 1, Shape::amount, "network.io.direction", "transmit"},
};
static_assert(std::is_sorted(std::begin(kMetrics), std::end(kMetrics),
                             [](const OtlpMetric &a, const OtlpMetric &b) { return a.name < b.name; }));

constexpr OtlpAttribute kAttributes[] = {
    {"command", "process.command_line", true},
    {"container", "container.name", true},
    {"core", "cpu.logical_number", false, true},
    {"disk", "system.device"},
    {"host", "host.name", true},
    {"interface", "network.interface.name"},
    {"pid", "process.pid", true, true},
    {"process", "process.executable.name", true},
    {"user", "process.owner", true},
};

}  // namespace

const OtlpMetric *otlp_metric(std::string_view name) {
  const auto *found = std::lower_bound(std::begin(kMetrics), std::end(kMetrics), name,
                                       [](const OtlpMetric &entry, std::string_view wanted) { return entry.name < wanted; });
  return found != std::end(kMetrics) && found->name == name ? found : nullptr;
}

const OtlpAttribute *otlp_attribute(std::string_view tag) {
  const auto *found =
      std::find_if(std::begin(kAttributes), std::end(kAttributes), [&](const auto &entry) { return entry.tag == tag; });
  return found != std::end(kAttributes) ? found : nullptr;
}

}  // namespace atalaya::protocols
