// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/exits/taskstats_reader.h"

#include <linux/acct.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace atalaya::proc {
namespace {

using network::attribute;
using network::load;

constexpr uint64_t kNanosecondsPerMicrosecond = 1000;
// Limits of valid times: the year 2106, and 35 years.
constexpr int64_t kMaxTime_s = int64_t{1} << 32;
constexpr uint64_t kMaxLife_us = uint64_t{1} << 50;
constexpr int32_t kKthreadd = 2;  // the parent of all kernel threads
constexpr double kMaxTime_ns = 0x1p63;

// Offsets in struct taskstats. The header of the build is not used, because the offsets depend on the running kernel.
// Version 15 put new members between the old ones (kernel commit 658eb5ab916d), version 16 moved them to the end; all others
// append.
enum : size_t {
  kVersion = 0,
  kFlags = 8,
  kCpuCount = 16,
  kCpuDelay = 24,
  kCpuRunVirtual = 72,
  kName = 80,
  kNameSize = 32,
  kPid = 128,
  kParent = 132,
  kBeginTime = 136,
  kElapsed = 144,
  kUserTime = 152,
  kKernelTime = 160,
  kFaultsMinor = 168,
  kFaultsMajor = 176,
  kMaxVirtual = 208,
  kReadChars = 216,
  kWriteChars = 224,
  kReadBytes = 248,
  kWriteBytes = 256,
  kSwitchesVoluntary = 272,
  kSwitchesInvoluntary = 280,
  kBeginTime64 = 344,
  kProcess = 368,
  kProcessElapsed = 376,

  kSize8 = 328,
  kSize10 = 352,
  kSize12 = 400,
  kSize14 = 432,
};

// Displacement of members relative to version 14.
struct Layout {
  size_t accounting = 0;  // kCpuRunVirtual to kSwitchesInvoluntary
  size_t begin_time_64 = 0;
  size_t process = 0;
};

// Version 15 has one or two members more for each of eight delays: three of them are before the accounting, two after it and before
// the 64-bit begin time, one before the process.
std::optional<Layout> layout_of(uint16_t version, size_t size) {
  constexpr size_t kMember = sizeof(uint64_t);
  const size_t needed = version >= 14 ? kSize14 : version >= 12 ? kSize12 : version >= 10 ? kSize10 : kSize8;
  if (version < 8 || size < needed) return std::nullopt;
  if (version != 15) return Layout{};
  const size_t added = (size - kSize14) / (8 * kMember);
  if (added < 1 || added > 2) return std::nullopt;
  return Layout{3 * added * kMember, 5 * added * kMember, 6 * added * kMember};
}

procfs::Name name_of(Bytes name) {
  const auto *text = reinterpret_cast<const char *>(name.data());
  return procfs::Name({text, strnlen(text, name.size())});
}

void read_counters(Bytes stats, const Layout &layout, bool has_memory, TaskEnd &end) {
  const auto take = [&](procfs::Counter counter, size_t offset) {
    end.counters.set(counter, load<uint64_t>(stats, offset + layout.accounting));
  };
  take(procfs::Counter::faults_minor, kFaultsMinor);
  take(procfs::Counter::faults_major, kFaultsMajor);
  take(procfs::Counter::switches_voluntary, kSwitchesVoluntary);
  take(procfs::Counter::switches_involuntary, kSwitchesInvoluntary);
  if (load<uint64_t>(stats, kCpuCount) > 0) end.counters.set(procfs::Counter::delay_ns, load<uint64_t>(stats, kCpuDelay));
  // A kernel without extended accounting leaves all these members 0. With it, a program has memory.
  if (!has_memory) return;
  take(procfs::Counter::disk_reads_bytes, kReadBytes);
  take(procfs::Counter::disk_writes_bytes, kWriteBytes);
  // The kernel rounds these down to 1024 (xacct_add_tsk), numbers of calls too: 0 bytes are unknown, calls always.
  if (load<uint64_t>(stats, kReadChars + layout.accounting) > 0) take(procfs::Counter::reads_bytes, kReadChars);
  if (load<uint64_t>(stats, kWriteChars + layout.accounting) > 0) take(procfs::Counter::writes_bytes, kWriteChars);
}

int64_t end_time(Bytes stats, const Layout &layout, const TaskEnd &end) {
  const auto begin = end.version >= 10 ? load<int64_t>(stats, kBeginTime64 + layout.begin_time_64)
                                       : static_cast<int64_t>(load<uint32_t>(stats, kBeginTime + layout.accounting));
  const auto elapsed = static_cast<int64_t>(end.elapsed_us / kMicrosecondsPerSecond);
  return begin < 0 || begin > kMaxTime_s ? 0 : begin + elapsed;
}

std::optional<TaskEnd> parse_stats(Bytes stats) {
  TaskEnd end;
  end.version = load<uint16_t>(stats, kVersion);
  const std::optional<Layout> layout = layout_of(end.version, stats.size());
  if (!layout) return std::nullopt;
  const auto accounting = [&]<class Value>(size_t offset, Value &value) {
    value = load<Value>(stats, offset + layout->accounting);
  };
  accounting(kPid, end.pid);
  accounting(kParent, end.parent);
  accounting(kElapsed, end.elapsed_us);
  accounting(kCpuRunVirtual, end.cpu.exec_ns);
  accounting(kUserTime, end.cpu.user_us);
  accounting(kKernelTime, end.cpu.kernel_us);
  if (end.pid <= 0 || end.elapsed_us > kMaxLife_us) return std::nullopt;
  end.name = name_of(stats.subspan(kName + layout->accounting, kNameSize));
  end.process_elapsed_us = end.elapsed_us;
  end.end_s = end_time(stats, *layout, end);
  if (end.version >= 12) {
    end.process = load<int32_t>(stats, kProcess + layout->process);
    end.process_elapsed_us = load<uint64_t>(stats, kProcessElapsed + layout->process);
    end.last = (load<uint8_t>(stats, kFlags) & AGROUP) != 0;
    if (end.process <= 0 || end.process_elapsed_us > kMaxLife_us) return std::nullopt;
  }
  const bool has_memory = load<uint64_t>(stats, kMaxVirtual + layout->accounting) > 0;
  end.kernel_thread = !has_memory && end.parent == kKthreadd;
  read_counters(stats, *layout, has_memory, end);
  return end;
}

// The record of all threads only has the sums of delay accounting; not every kernel fills in its version.
std::optional<ThreadsTotal> parse_total(Bytes stats, uint16_t version) {
  const std::optional<Layout> layout = layout_of(version, stats.size());
  if (!layout) return std::nullopt;
  ThreadsTotal total;
  total.exec_ns = load<uint64_t>(stats, kCpuRunVirtual + layout->accounting);
  if (load<uint64_t>(stats, kCpuCount) > 0) total.delay_ns = load<uint64_t>(stats, kCpuDelay);
  return total;
}

uint64_t in_nanoseconds(uint64_t microseconds) {
  uint64_t result = 0;
  return __builtin_mul_overflow(microseconds, kNanosecondsPerMicrosecond, &result) ? 0 : result;
}

}  // namespace

std::optional<uint16_t> family_of(const NetlinkMessage &message) {
  if (message.type != GENL_ID_CTRL || message.payload.size() < sizeof(genlmsghdr)) return std::nullopt;
  const std::optional<Bytes> id = attribute(message.payload.subspan(sizeof(genlmsghdr)), CTRL_ATTR_FAMILY_ID);
  if (!id || id->size() < sizeof(uint16_t)) return std::nullopt;
  return load<uint16_t>(*id, 0);
}

void set_cpu(const TaskCpu &cpu, bool kernel_thread, procfs::Known<procfs::Counter, procfs::kCounters> &counters) {
  const auto user = static_cast<double>(cpu.user_us), kernel = static_cast<double>(cpu.kernel_us);
  if (cpu.exec_ns == 0) {
    counters.set(procfs::Counter::user_ns, in_nanoseconds(cpu.user_us));
    counters.set(procfs::Counter::kernel_ns, in_nanoseconds(cpu.kernel_us));
    return;
  }
  const double share = kernel_thread ? 1 : kernel == 0 ? 0 : kernel / (user + kernel);
  const double part_ns = std::min(static_cast<double>(cpu.exec_ns) * share, kMaxTime_ns);
  const uint64_t kernel_ns = std::min(static_cast<uint64_t>(part_ns), cpu.exec_ns);
  counters.set(procfs::Counter::user_ns, cpu.exec_ns - kernel_ns);
  counters.set(procfs::Counter::kernel_ns, kernel_ns);
}

std::optional<TaskEnd> task_end(Bytes payload) {
  if (payload.size() < sizeof(genlmsghdr) || load<genlmsghdr>(payload, 0).cmd != TASKSTATS_CMD_NEW) return std::nullopt;
  const Bytes attributes = payload.subspan(sizeof(genlmsghdr));
  const std::optional<Bytes> task = attribute(attributes, TASKSTATS_TYPE_AGGR_PID);
  if (!task) return std::nullopt;
  const std::optional<Bytes> stats = attribute(*task, TASKSTATS_TYPE_STATS);
  if (!stats) return std::nullopt;
  std::optional<TaskEnd> end = parse_stats(*stats);
  const std::optional<Bytes> process = attribute(attributes, TASKSTATS_TYPE_AGGR_TGID);
  if (!end || !process) return end;
  const std::optional<Bytes> total = attribute(*process, TASKSTATS_TYPE_STATS);
  const std::optional<Bytes> pid = attribute(*process, TASKSTATS_TYPE_TGID);
  if (!total || !pid || pid->size() < sizeof(int32_t)) return std::nullopt;
  end->total = parse_total(*total, end->version);
  end->process = load<int32_t>(*pid, 0);
  end->last = true;
  if (!end->total || end->process <= 0) return std::nullopt;
  return end;
}

}  // namespace atalaya::proc
