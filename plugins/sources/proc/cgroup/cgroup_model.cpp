// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/cgroup/cgroup_model.h"

#include "plugins/sources/proc/host/host_model.h"

namespace atalaya::proc {
namespace {

using Names = PressureNames<CgroupValues>;
constexpr Names kCpuPressure = {"cgroup.pressure.cpu.some", "cgroup.pressure.cpu.some.stall", "cgroup.pressure.cpu.full",
                                "cgroup.pressure.cpu.full.stall"};
constexpr Names kMemoryPressure = {"cgroup.pressure.memory.some", "cgroup.pressure.memory.some.stall",
                                   "cgroup.pressure.memory.full", "cgroup.pressure.memory.full.stall"};
constexpr Names kIoPressure = {"cgroup.pressure.io.some", "cgroup.pressure.io.some.stall", "cgroup.pressure.io.full",
                               "cgroup.pressure.io.full.stall"};

std::optional<double> mib(procfs::Count bytes) {
  return bytes ? std::optional(static_cast<double>(*bytes) / (1024.0 * 1024.0)) : std::nullopt;
}

void counter_values(const procfs::Readings<cgroup::CgroupCounters> &cgroup, CgroupValues &out) {
  using C = cgroup::CgroupCounters;
  constexpr double kPercentOfNanoseconds = 100.0 / 1e9;
  out.set("cgroup.cpu.usage", cgroup.per_second(&C::usage_ns, kPercentOfNanoseconds));
  out.set("cgroup.cpu.user", cgroup.per_second(&C::user_ns, kPercentOfNanoseconds));
  out.set("cgroup.cpu.kernel", cgroup.per_second(&C::system_ns, kPercentOfNanoseconds));
  out.set("cgroup.cpu.throttled.periods", cgroup.per_second(&C::throttled_periods));
  out.set("cgroup.cpu.throttled.time", cgroup.per_second(&C::throttled_ns, 1 / 1e6));
  out.set_count("cgroup.mem.oom.kills", cgroup.delta_of(&C::oom_kills));
  out.set("cgroup.disk.read.bytes", cgroup.per_second(&C::read_bytes));
  out.set("cgroup.disk.read.ios", cgroup.per_second(&C::reads));
  out.set("cgroup.disk.write.bytes", cgroup.per_second(&C::write_bytes));
  out.set("cgroup.disk.write.ios", cgroup.per_second(&C::writes));
}

void gauge_values(const cgroup::CgroupGauges &gauges, CgroupValues &out) {
  out.set("cgroup.cpu.limit", gauges.cpu_limit);
  out.set("cgroup.mem.usage", mib(gauges.memory));
  out.set("cgroup.mem.limit", mib(gauges.memory_limit));
  out.set("cgroup.mem.high", mib(gauges.memory_high));
  out.set("cgroup.mem.peak", mib(gauges.memory_peak));
  out.set("cgroup.mem.cache", mib(gauges.cache));
  out.set("cgroup.mem.rss", mib(gauges.rss));
  out.set("cgroup.mem.swap", mib(gauges.swap));
  out.set_count("cgroup.tasks", gauges.tasks);
  out.set_count("cgroup.tasks.limit", gauges.tasks_limit);
}

}  // namespace

void cgroup_values(const cgroup::CgroupReading &reading, int64_t at_ns, CgroupHistory &history, CgroupValues &out) {
  counter_values(history.counters.exchange(reading.counters, at_ns), out);
  gauge_values(reading.gauges, out);
  pressure_values(reading.cpu, history.cpu.exchange(reading.cpu.totals, at_ns), kCpuPressure, out);
  pressure_values(reading.memory, history.memory.exchange(reading.memory.totals, at_ns), kMemoryPressure, out);
  pressure_values(reading.io, history.io.exchange(reading.io.totals, at_ns), kIoPressure, out);
}

}  // namespace atalaya::proc
