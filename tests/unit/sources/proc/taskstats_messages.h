// SPDX-License-Identifier: Apache-2.0
// Messages as the kernel sends them when a thread ends, of every version of its struct taskstats.
#pragma once

#include <linux/acct.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "tests/unit/host/network/netlink_messages.h"

namespace atalaya::testing {

static_assert(TASKSTATS_VERSION >= 12 && TASKSTATS_VERSION != 15, "its members lie as in version 14, as far as it has them");

// struct taskstats in the layout of a version.
inline Buffer stats_of_version(const taskstats &stats, uint16_t version, size_t added_by_15 = 2) {
  constexpr size_t kSizes[] = {328, 344, 352, 368, 400, 416, 432, 432, 560, 688};  // from version 8 on
  Buffer bytes = bytes_of(&stats, sizeof(stats));
  std::memcpy(bytes.data(), &version, sizeof(version));
  bytes.resize(kSizes[std::clamp<size_t>(version, 8, 17) - 8]);
  // Version 15: further numbers behind each delay's total. From the last to the first, so that offsets before them still hold.
  if (version == 15)
    for (const size_t end : {432, 416, 368, 344, 328, 64, 48, 32})
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(end), 8 * added_by_15, std::byte{0xee});
  return bytes;
}

inline Buffer aggregate(uint16_t type, uint16_t id_type, int32_t id, const Buffer &stats) {
  Buffer payload = attribute(id_type, bytes_of(&id, sizeof(id)));
  append(payload, attribute(TASKSTATS_TYPE_STATS, stats));
  return attribute(type, payload);
}

inline Buffer task_aggregate(int32_t pid, const Buffer &stats) {
  return aggregate(TASKSTATS_TYPE_AGGR_PID, TASKSTATS_TYPE_PID, pid, stats);
}
inline Buffer process_aggregate(int32_t pid, const Buffer &stats) {
  return aggregate(TASKSTATS_TYPE_AGGR_TGID, TASKSTATS_TYPE_TGID, pid, stats);
}

// The payload of a message of the taskstats family.
inline Buffer taskstats_payload(const Buffer &attributes, uint8_t command = TASKSTATS_CMD_NEW) {
  const genlmsghdr header{command, 1, 0};
  Buffer result = bytes_of(&header, sizeof(header));
  append(result, attributes);
  return result;
}

// A thread that ended, with different numbers everywhere.
inline taskstats example_stats() {
  taskstats stats{};
  stats.version = 13;
  stats.ac_flag = AGROUP;
  stats.cpu_count = 11;
  stats.cpu_delay_total = 12'000;
  stats.cpu_run_virtual_total = 40'000'000;
  std::memcpy(stats.ac_comm, "cc1 (x)", 8);
  stats.ac_pid = 4711;
  stats.ac_ppid = 4700;
  stats.ac_btime = 1'700'000'000;
  stats.ac_etime = 2'500'000;
  stats.ac_utime = 30'000;
  stats.ac_stime = 10'000;
  stats.ac_minflt = 21;
  stats.ac_majflt = 22;
  stats.hiwater_vm = 5000;
  stats.read_char = 3072;
  stats.write_char = 4096;
  stats.read_syscalls = 1024;
  stats.write_syscalls = 2048;
  stats.read_bytes = 8192;
  stats.write_bytes = 16384;
  stats.nvcsw = 31;
  stats.nivcsw = 32;
  stats.ac_btime64 = 1'700'000'000;
  stats.ac_tgid = 4711;
  stats.ac_tgetime = 2'500'000;
  return stats;
}

}  // namespace atalaya::testing
