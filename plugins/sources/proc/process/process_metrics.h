// SPDX-License-Identifier: Apache-2.0
// The metrics of processes, each with the counter or gauge of a reading that it reports.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>
#include <cstddef>

#include "plugins/shared/host/procfs/process_reading.h"

namespace atalaya::proc {

inline constexpr MetricTag kProcessTags[] = {metric::identity("host"), metric::identity("pid"),    metric::identity("process"),
                                             metric::extra("user"),    metric::extra("parent"),    metric::extra("cgroup"),
                                             metric::extra("unit"),    metric::extra("container"), metric::extra("command")};
inline constexpr MetricTag kExitTags[] = {metric::identity("host"),   metric::extra("pid"),       metric::identity("process"),
                                          metric::identity("parent"), metric::identity("cgroup"), metric::identity("parent.pid")};
inline constexpr MetricTag kLostExitTags[] = {metric::identity("host"), metric::identity("process")};

// A metric whose value is the increase of the counter per second, times `scale`.
struct RateRow {
  Metric metric;
  procfs::Counter counter;
  double scale;
};
// A metric whose value is the gauge times `scale`; a metric without decimals is not scaled.
struct GaugeRow {
  Metric metric;
  procfs::Gauge gauge;
  double scale;
};

inline constexpr double kPercentPerNs = 100.0 / 1e9;  // per cent of one core
inline constexpr double kMibPerByte = 1.0 / (1024 * 1024);
inline constexpr double kMibPerKib = 1.0 / 1024;

inline constexpr std::array<RateRow, procfs::kCounters> kRateRows = {{
    {metric::rate("proc.cpu.user", "%", 2, kProcessTags, "/proc/PID/stat utime", "CPU time in user mode; 100 is one core"),
     procfs::Counter::user_ns, kPercentPerNs},
    {metric::rate("proc.cpu.kernel", "%", 2, kProcessTags, "/proc/PID/stat stime", "CPU time in the kernel; 100 is one core"),
     procfs::Counter::kernel_ns, kPercentPerNs},
    {metric::rate("proc.cpu.delay", "%", 2, kProcessTags, "/proc/PID/schedstat field 2",
                  "Time runnable but waiting for a CPU; with procfs, only of processes with one thread"),
     procfs::Counter::delay_ns, kPercentPerNs},
    {metric::rate("proc.disk.reads.mb", "MiBy/s", 3, kProcessTags, "/proc/PID/io read_bytes", "Data read from storage"),
     procfs::Counter::disk_reads_bytes, kMibPerByte},
    {metric::rate("proc.disk.writes.mb", "MiBy/s", 3, kProcessTags, "/proc/PID/io write_bytes", "Data written to storage"),
     procfs::Counter::disk_writes_bytes, kMibPerByte},
    {metric::rate("proc.io.reads.bytes", "By/s", 0, kProcessTags, "/proc/PID/io rchar",
                  "Bytes read by system calls from files, pipes and sockets, cached or not"),
     procfs::Counter::reads_bytes, 1},
    {metric::rate("proc.io.writes.bytes", "By/s", 0, kProcessTags, "/proc/PID/io wchar",
                  "Bytes written by system calls to files, pipes and sockets"),
     procfs::Counter::writes_bytes, 1},
    {metric::rate("proc.io.reads.calls", "/s", 2, kProcessTags, "/proc/PID/io syscr", "Read system calls"),
     procfs::Counter::reads_calls, 1},
    {metric::rate("proc.io.writes.calls", "/s", 2, kProcessTags, "/proc/PID/io syscw", "Write system calls"),
     procfs::Counter::writes_calls, 1},
    {metric::rate("proc.faults.minor", "/s", 2, kProcessTags, "/proc/PID/stat minflt", "Page faults served from memory"),
     procfs::Counter::faults_minor, 1},
    {metric::rate("proc.faults.major", "/s", 2, kProcessTags, "/proc/PID/stat majflt", "Page faults that read from disk"),
     procfs::Counter::faults_major, 1},
    {metric::rate("proc.switches.voluntary", "/s", 2, kProcessTags, "/proc/PID/status voluntary_ctxt_switches",
                  "Voluntary context switches; with procfs, only of processes with one thread"),
     procfs::Counter::switches_voluntary, 1},
    {metric::rate("proc.switches.involuntary", "/s", 2, kProcessTags, "/proc/PID/status nonvoluntary_ctxt_switches",
                  "Involuntary context switches; with procfs, only of processes with one thread"),
     procfs::Counter::switches_involuntary, 1},
}};

inline constexpr std::array<GaugeRow, procfs::kGauges> kGaugeRows = {{
    {metric::gauge("proc.mem.resident", "MiBy", 2, kProcessTags, "/proc/PID/status VmRSS",
                   "Resident memory, shared memory included; absent for kernel threads"),
     procfs::Gauge::resident_kib, kMibPerKib},
    {metric::gauge("proc.mem.virtual", "MiBy", 2, kProcessTags, "/proc/PID/status VmSize", "Virtual address space"),
     procfs::Gauge::virtual_kib, kMibPerKib},
    {metric::gauge("proc.mem.swap", "MiBy", 2, kProcessTags, "/proc/PID/status VmSwap", "Memory in swap"), procfs::Gauge::swap_kib,
     kMibPerKib},
    {metric::gauge("proc.threads", "1", metric::count, kProcessTags, "/proc/PID/stat num_threads", "Threads"),
     procfs::Gauge::threads, 1},
    {metric::gauge("proc.state", "1", metric::count, kProcessTags, "/proc/PID/stat state",
                   "State as a character code: 82 R running, 83 S sleeping, 68 D disk wait, 90 Z zombie"),
     procfs::Gauge::state, 1},
    {metric::gauge("proc.parent.pid", "1", metric::count, kProcessTags, "/proc/PID/stat ppid", "Process id of the parent"),
     procfs::Gauge::parent, 1},
    {metric::gauge("proc.files.open", "1", metric::count, kProcessTags, "/proc/PID/fd",
                   "Open file descriptors; with procfs, only in some windows (see expensive_budget)"),
     procfs::Gauge::open_files, 1},
}};

inline constexpr Metric kStartTimeMetric =
    metric::gauge("proc.start.time", "ns", metric::count, kProcessTags, "/proc/PID/stat starttime + /proc/stat btime",
                  "Start time, Unix time; with the pid it identifies a process");

// The two metrics of ended processes; samples of groups have no tag `pid`.
inline constexpr Metric kExitsMetric =
    metric::delta("proc.exits", "1", metric::count, kExitTags, "sched_process_free, or taskstats",
                  "Processes that ended in the window, of this name, parent and cgroup; 1 with the pid of one seen before");
inline constexpr Metric kLostExitsMetric =
    metric::delta("proc.exits.lost", "1", metric::count, kLostExitTags, "the buffers of both",
                  "Process ends lost in the window, by a full buffer or a malformed record; with taskstats, ends of threads");

constexpr std::array<Metric, procfs::kCounters + procfs::kGauges + 3> process_metrics() {
  std::array<Metric, procfs::kCounters + procfs::kGauges + 3> all{};
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
