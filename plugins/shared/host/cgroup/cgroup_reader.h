// SPDX-License-Identifier: Apache-2.0
// Parses the files of a cgroup, of version 1 and 2. Pure functions; values that a kernel or controller does not have are absent.
// Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/host/procfs/host_reader.h"

namespace atalaya::cgroup {

struct CgroupCounters {
  procfs::Count usage_ns, user_ns, system_ns;
  procfs::Count throttled_periods, throttled_ns;
  procfs::Count oom_kills;
  procfs::Count read_bytes, write_bytes, reads, writes;
};

struct CgroupGauges {  // Current values, in bytes.
  std::optional<double> cpu_limit;
  procfs::Count memory, memory_limit, memory_high, memory_peak, cache, rss, swap;
  procfs::Count tasks, tasks_limit;
};

struct CgroupReading {
  CgroupCounters counters;
  CgroupGauges gauges;
  procfs::Pressure cpu, memory, io;
};

// Whether the options of a mount, "rw,cpu,cpuacct", contain the option.
bool has_option(std::string_view options, std::string_view option);

// One mounted hierarchy of cgroups and the controllers that are read from it.
struct Hierarchy {
  std::string path;  // of its mount point, without the leading '/'
  bool v2 = false;
  bool cpu = false;      // limits and throttling
  bool cpuacct = false;  // time used
  bool memory = false, io = false, tasks = false;
  bool operator==(const Hierarchy &) const = default;
};
// Finds the hierarchies to read. On a host with both versions, version 2 is used for the controllers that version 1 lacks.
std::vector<Hierarchy> find_hierarchies(const std::vector<procfs::Mount> &mounts);

// The major numbers of stacked block devices (device mapper, md, loop), whose I/O is counted again on the disks below them.
std::vector<uint64_t> parse_stacked_majors(std::string_view text);  // /proc/devices

procfs::Count parse_amount(std::string_view text);  // a text that is one number
procfs::Count parse_limit(std::string_view text);   // no limit for "max" and the huge number of version 1

void parse_cpu_stat_v2(std::string_view text, CgroupCounters &out);
void parse_cpu_stat_v1(std::string_view text, CgroupCounters &out);
void parse_cpuacct_stat(std::string_view text, uint64_t ns_per_tick, CgroupCounters &out);
std::optional<double> cores_of_quota(procfs::Count quota_us, procfs::Count period_us);
std::optional<double> parse_cpu_max(std::string_view text);  // in cores
void parse_memory_stat_v2(std::string_view text, CgroupGauges &out);
void parse_memory_stat_v1(std::string_view text, CgroupGauges &out);
void parse_oom_kills(std::string_view text, CgroupCounters &out);  // memory.events, memory.oom_control
void parse_io_stat(std::string_view text, const std::vector<uint64_t> &stacked_majors, CgroupCounters &out);
// blkio.throttle.io_service_bytes, .io_serviced
void parse_blkio(std::string_view text, const std::vector<uint64_t> &stacked_majors, procfs::Count &reads, procfs::Count &writes);

}  // namespace atalaya::cgroup
