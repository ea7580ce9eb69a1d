// SPDX-License-Identifier: Apache-2.0
// The metrics of processes: what each is called, and which number of a process it shows.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>
#include <cstddef>

#include "plugins/sources/proc/process_reading.h"

namespace atalaya::proc {

using namespace atalaya::literals;

inline constexpr MetricTag kProcessTags[] = {
    {"host"_str, ATALAYA_TAG_IDENTITY, 0}, {"pid"_str, ATALAYA_TAG_IDENTITY, 0},    {"process"_str, ATALAYA_TAG_IDENTITY, 0},
    {"user"_str, ATALAYA_TAG_EXTRA, 0},    {"parent"_str, ATALAYA_TAG_EXTRA, 0},    {"cgroup"_str, ATALAYA_TAG_EXTRA, 0},
    {"unit"_str, ATALAYA_TAG_EXTRA, 0},    {"container"_str, ATALAYA_TAG_EXTRA, 0}, {"command"_str, ATALAYA_TAG_EXTRA, 0},
};

inline constexpr MetricTag kExitTags[] = {{"host"_str, ATALAYA_TAG_IDENTITY, 0},
                                          {"process"_str, ATALAYA_TAG_IDENTITY, 0},
                                          {"parent"_str, ATALAYA_TAG_IDENTITY, 0},
                                          {"cgroup"_str, ATALAYA_TAG_IDENTITY, 0}};

constexpr Metric process_metric(atalaya_str name, atalaya_str unit, uint32_t kind, int32_t decimals, atalaya_str source,
                                atalaya_str summary) {
  return {.name = name,
          .unit = unit,
          .kind = kind,
          .decimals = decimals,
          .tags = kProcessTags,
          .tag_count = std::size(kProcessTags),
          .tag_size = sizeof(MetricTag),
          .source = source,
          .summary = summary};
}
constexpr Metric process_rate(atalaya_str name, atalaya_str unit, int32_t decimals, atalaya_str source, atalaya_str summary) {
  return process_metric(name, unit, ATALAYA_RATE, decimals, source, summary);
}
constexpr Metric process_size(atalaya_str name, atalaya_str source, atalaya_str summary) {
  return process_metric(name, "MiBy"_str, ATALAYA_GAUGE, 2, source, summary);
}
constexpr Metric process_count(atalaya_str name, atalaya_str unit, atalaya_str source, atalaya_str summary) {
  return process_metric(name, unit, ATALAYA_GAUGE, -1, source, summary);
}

// A counter's growth per second, times the scale.
struct RateRow {
  Metric metric;
  Counter counter;
  double scale;
};
// A gauge times the scale; as it is when the metric is a count.
struct GaugeRow {
  Metric metric;
  Gauge gauge;
  double scale;
};

inline constexpr double kPercentPerNs = 100.0 / 1e9;  // of one core
inline constexpr double kMibPerByte = 1.0 / (1024 * 1024);
inline constexpr double kMibPerKib = 1.0 / 1024;

inline constexpr std::array<RateRow, kCounters> kRateRows = {{
    {process_rate("proc.cpu.user"_str, "%"_str, 2, "/proc/PID/stat utime"_str, "CPU time in user mode, of one core."_str),
     Counter::user_ns, kPercentPerNs},
    {process_rate("proc.cpu.kernel"_str, "%"_str, 2, "/proc/PID/stat stime"_str, "CPU time in the kernel, of one core."_str),
     Counter::kernel_ns, kPercentPerNs},
    {process_rate(
         "proc.cpu.delay"_str, "%"_str, 2, "/proc/PID/schedstat field 2"_str,
         "Time spent ready to run but waiting for a CPU; with procfs of processes with one thread only, and absent while threads end."_str),
     Counter::delay_ns, kPercentPerNs},
    {process_rate("proc.disk.reads.mb"_str, "MiBy/s"_str, 3, "/proc/PID/io read_bytes"_str, "Data fetched from storage."_str),
     Counter::disk_reads_bytes, kMibPerByte},
    {process_rate("proc.disk.writes.mb"_str, "MiBy/s"_str, 3, "/proc/PID/io write_bytes"_str, "Data sent to storage."_str),
     Counter::disk_writes_bytes, kMibPerByte},
    {process_rate("proc.io.reads.bytes"_str, "By/s"_str, 0, "/proc/PID/io rchar"_str,
                  "Bytes read by system calls, from files, pipes and sockets, cached or not."_str),
     Counter::reads_bytes, 1},
    {process_rate("proc.io.writes.bytes"_str, "By/s"_str, 0, "/proc/PID/io wchar"_str,
                  "Bytes written by system calls, to files, pipes and sockets."_str),
     Counter::writes_bytes, 1},
    {process_rate("proc.io.reads.calls"_str, "1/s"_str, 2, "/proc/PID/io syscr"_str, "System calls that read."_str),
     Counter::reads_calls, 1},
    {process_rate("proc.io.writes.calls"_str, "1/s"_str, 2, "/proc/PID/io syscw"_str, "System calls that write."_str),
     Counter::writes_calls, 1},
    {process_rate("proc.faults.minor"_str, "1/s"_str, 2, "/proc/PID/stat minflt"_str, "Page faults served without a disk."_str),
     Counter::faults_minor, 1},
    {process_rate("proc.faults.major"_str, "1/s"_str, 2, "/proc/PID/stat majflt"_str, "Page faults that waited for a disk."_str),
     Counter::faults_major, 1},
    {process_rate("proc.switches.voluntary"_str, "1/s"_str, 2, "/proc/PID/status voluntary_ctxt_switches"_str,
                  "Times it gave up the CPU to wait for something; with procfs of processes with one thread only."_str),
     Counter::switches_voluntary, 1},
    {process_rate("proc.switches.involuntary"_str, "1/s"_str, 2, "/proc/PID/status nonvoluntary_ctxt_switches"_str,
                  "Times the CPU was taken from it; with procfs of processes with one thread only."_str),
     Counter::switches_involuntary, 1},
}};

inline constexpr std::array<GaugeRow, kGauges> kGaugeRows = {{
    {process_size("proc.mem.resident"_str, "/proc/PID/status VmRSS"_str,
                  "Memory in RAM, what it shares with others included; kernel threads have none."_str),
     Gauge::resident_kib, kMibPerKib},
    {process_size("proc.mem.virtual"_str, "/proc/PID/status VmSize"_str, "Address space in use."_str), Gauge::virtual_kib,
     kMibPerKib},
    {process_size("proc.mem.swap"_str, "/proc/PID/status VmSwap"_str, "Memory moved out to swap."_str), Gauge::swap_kib,
     kMibPerKib},
    {process_count("proc.threads"_str, "1"_str, "/proc/PID/stat num_threads"_str, "Threads."_str), Gauge::threads, 1},
    {process_count("proc.state"_str, "1"_str, "/proc/PID/stat state"_str,
                   "Code of the letter of its state: 82 R runs, 83 S sleeps, 68 D waits for a disk, 90 Z has ended."_str),
     Gauge::state, 1},
    {process_count("proc.parent.pid"_str, "1"_str, "/proc/PID/stat ppid"_str, "Its parent."_str), Gauge::parent, 1},
    {process_count("proc.files.open"_str, "1"_str, "/proc/PID/fd"_str,
                   "Open descriptors; with procfs in the windows in which its turn comes (parameter expensive_budget)."_str),
     Gauge::open_files, 1},
}};

inline constexpr Metric kStartTimeMetric =
    process_count("proc.start.time"_str, "ns"_str, "/proc/PID/stat starttime + /proc/stat btime"_str,
                  "When it began, Unix time; with the pid it tells processes apart."_str);

// Of groups of processes that ended: without a pid.
inline constexpr Metric kExitsMetric = {.name = "proc.exits"_str,
                                        .unit = "1"_str,
                                        .kind = ATALAYA_DELTA,
                                        .decimals = -1,
                                        .tags = kExitTags,
                                        .tag_count = std::size(kExitTags),
                                        .tag_size = sizeof(MetricTag),
                                        .source = "sched_process_free, or taskstats"_str,
                                        .summary = "Processes of this name, parent and cgroup that ended in the window."_str};
inline constexpr Metric kLostExitsMetric = {
    .name = "proc.exits.lost"_str,
    .unit = "1"_str,
    .kind = ATALAYA_DELTA,
    .decimals = -1,
    .tags = kExitTags,
    .tag_count = 2,
    .tag_size = sizeof(MetricTag),
    .source = "the buffers of both"_str,
    .summary = "Ends in the window that there was no room to tell; with taskstats, of threads."_str};

constexpr std::array<Metric, kCounters + kGauges + 3> process_metrics() {
  std::array<Metric, kCounters + kGauges + 3> all{};
  size_t at = 0;
  for (const RateRow &row : kRateRows) all[at++] = row.metric;
  for (const GaugeRow &row : kGaugeRows) all[at++] = row.metric;
  all[at++] = kStartTimeMetric;
  all[at++] = kExitsMetric;
  all[at++] = kLostExitsMetric;
  return all;
}
inline constexpr auto kProcessMetrics = process_metrics();

}  // namespace atalaya::proc
