// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/bpf_records.h"

#include <unistd.h>

#include <cstring>

namespace atalaya::proc {
namespace {

procfs::Name name_of(const char (&comm)[PROC_COMM]) {
  return procfs::Name({comm, ::strnlen(comm, sizeof(comm))});
}

procfs::Known<procfs::Counter, procfs::kCounters> counters_of(const proc_counts &counts, uint32_t flags) {
  procfs::Known<procfs::Counter, procfs::kCounters> counters;
  if ((flags & PROC_PARTIAL) != 0) return counters;
  counters.set(procfs::Counter::user_ns, counts.user_ns);
  counters.set(procfs::Counter::kernel_ns, counts.system_ns);
  counters.set(procfs::Counter::faults_minor, counts.min_flt);
  counters.set(procfs::Counter::faults_major, counts.maj_flt);
  counters.set(procfs::Counter::switches_voluntary, counts.nvcsw);
  counters.set(procfs::Counter::switches_involuntary, counts.nivcsw);
  if ((flags & PROC_HAS_DELAY) != 0) counters.set(procfs::Counter::delay_ns, counts.delay_ns);
  if ((flags & PROC_HAS_IO) != 0) {
    counters.set(procfs::Counter::disk_reads_bytes, counts.read_bytes);
    counters.set(procfs::Counter::disk_writes_bytes, counts.write_bytes);
  }
  if ((flags & PROC_HAS_CALLS) != 0) {
    counters.set(procfs::Counter::reads_bytes, counts.rchar);
    counters.set(procfs::Counter::writes_bytes, counts.wchar);
    counters.set(procfs::Counter::reads_calls, counts.syscr);
    counters.set(procfs::Counter::writes_calls, counts.syscw);
  }
  return counters;
}

// The letter that /proc/PID/stat shows: task_state_index of the kernel's sched.h.
char state_letter(uint32_t state) {
  constexpr uint32_t kIdle = 0x402, kReported = 0x7f, kWaitsForLock = 0x1000, kFrozen = 0x8000;
  const uint32_t running = state & 0xffff, ended = state >> 16;
  if (running == kIdle) return 'I';
  if ((running & (kWaitsForLock | kFrozen)) != 0) return 'D';
  uint32_t reported = (running | ended) & kReported;
  const char *letter = "RSDTtXZP";
  for (; reported != 0; reported >>= 1) ++letter;
  return *letter;
}

}  // namespace

procfs::ProcessReading reading_of(const proc_record &record) {
  static const auto page_kib = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  procfs::ProcessReading reading;
  reading.pid = record.head.pid;
  reading.kernel_thread = (record.flags & PROC_KERNEL_THREAD) != 0;
  reading.name = name_of(record.comm);
  reading.start_ns = record.start_ns;
  reading.monotonic_ns = static_cast<int64_t>(record.read_ns);
  reading.user = record.user;
  reading.counters = counters_of(record.counts, record.flags);
  reading.partial = (record.flags & PROC_PARTIAL) != 0;
  if (!reading.partial) {
    reading.exec_ns = record.counts.exec_ns;
    reading.ended_threads_ns = record.ended_exec_ns;
  }
  reading.gauges.set(procfs::Gauge::threads, record.threads);
  reading.gauges.set(procfs::Gauge::state, static_cast<unsigned char>(state_letter(record.state)));
  reading.gauges.set(procfs::Gauge::parent, static_cast<uint64_t>(record.parent));
  if ((record.flags & PROC_HAS_MEMORY) != 0) {
    reading.gauges.set(procfs::Gauge::resident_kib, static_cast<uint64_t>(record.resident) * page_kib);
    reading.gauges.set(procfs::Gauge::virtual_kib, static_cast<uint64_t>(record.virtual_size) * page_kib);
    reading.gauges.set(procfs::Gauge::swap_kib, static_cast<uint64_t>(record.swap) * page_kib);
  }
  if ((record.flags & PROC_HAS_FILES) != 0) reading.gauges.set(procfs::Gauge::open_files, record.open_files);
  return reading;
}

ExitReading reading_of(const proc_exit &end) {
  ExitReading reading;
  reading.last.pid = end.pid;
  reading.last.name = name_of(end.comm);
  reading.last.start_ns = end.start_ns;
  reading.last.counters = counters_of(end.counts, end.flags);
  reading.last.exec_ns = end.counts.exec_ns;
  // With several threads, the waiting time of ended threads is lost.
  if ((end.flags & PROC_SOLO) == 0) reading.last.counters.forget(procfs::Counter::delay_ns);
  reading.parent = name_of(end.parent);
  reading.parent_pid = static_cast<int32_t>(end.parent_pid);
  reading.cgroup = end.cgroup;
  return reading;
}

ExitReading reading_of(const proc_key &key, const proc_leaving &end) {
  ExitReading reading;
  reading.last.pid = static_cast<int32_t>(key.pid);
  reading.last.name = name_of(end.comm);
  reading.last.start_ns = key.start_ns;
  if (end.solo != 0) {
    reading.last.counters = counters_of(end.counts, end.flags);
    reading.last.exec_ns = end.counts.exec_ns;
  }
  reading.parent = name_of(end.parent);
  reading.parent_pid = static_cast<int32_t>(end.parent_pid);
  reading.cgroup = end.cgroup;
  return reading;
}

size_t parse_records(std::span<const std::byte> bytes, const std::function<void(const proc_record &)> &full,
                     const std::function<void(int32_t)> &idle) {
  size_t at = 0;
  for (;;) {
    const size_t left = bytes.size() - at;
    proc_head head{};
    if (left < sizeof(head)) return at;
    std::memcpy(&head, &bytes[at], sizeof(head));
    if (head.kind == PROC_IDLE) {
      idle(head.pid);
      at += sizeof(head);
      continue;
    }
    proc_record record{};
    if (head.kind != PROC_FULL || left < sizeof(record)) return at;
    std::memcpy(&record, &bytes[at], sizeof(record));
    full(record);
    at += sizeof(record);
  }
}

}  // namespace atalaya::proc
