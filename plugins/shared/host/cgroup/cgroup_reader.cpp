// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/cgroup/cgroup_reader.h"

#include <algorithm>

#include "core/base/text/text.h"

namespace atalaya::cgroup {
namespace {

// "No limit" of version 1 is the largest multiple of the page size below 2^63.
constexpr uint64_t kNoLimit = uint64_t{1} << 62;

procfs::Count times(procfs::Count value, uint64_t factor) {
  if (!value || *value > UINT64_MAX / factor) return std::nullopt;
  return *value * factor;
}

void add(procfs::Count &sum, uint64_t value) {
  sum = value > UINT64_MAX - *sum ? UINT64_MAX : *sum + value;
}

// Whether the device, such as "8:0", is counted.
bool counts_device(std::string_view device, const std::vector<uint64_t> &stacked_majors) {
  const size_t colon = device.find(':');
  uint64_t major = 0;
  if (colon == std::string_view::npos || !procfs::whole_number(device.substr(0, colon), major)) return false;
  return std::find(stacked_majors.begin(), stacked_majors.end(), major) == stacked_majors.end();
}

Hierarchy hierarchy_v1(const procfs::Mount &mount) {
  const auto has = [&mount](std::string_view controller) { return has_option(mount.super_options, controller); };
  return {.cpu = has("cpu"), .cpuacct = has("cpuacct"), .memory = has("memory"), .io = has("blkio"), .tasks = has("pids")};
}

Hierarchy hierarchy_v2(const std::vector<procfs::Mount> &mounts) {
  Hierarchy rest{.v2 = true, .cpu = true, .cpuacct = true, .memory = true, .io = true, .tasks = true};
  for (const procfs::Mount &mount : mounts) {
    if (mount.type != "cgroup") continue;
    const Hierarchy taken = hierarchy_v1(mount);
    rest.cpu = rest.cpu && !taken.cpu;
    rest.cpuacct = rest.cpuacct && !taken.cpuacct;
    rest.memory = rest.memory && !taken.memory;
    rest.io = rest.io && !taken.io;
    rest.tasks = rest.tasks && !taken.tasks;
  }
  return rest;
}

struct MicrosecondTimes {
  procfs::Count usage, user, system, throttled;
};
constexpr procfs::KeyedCount<MicrosecondTimes> kTimeKeys[] = {{"usage_usec", &MicrosecondTimes::usage},
                                                              {"user_usec", &MicrosecondTimes::user},
                                                              {"system_usec", &MicrosecondTimes::system},
                                                              {"throttled_usec", &MicrosecondTimes::throttled}};
constexpr procfs::KeyedCount<CgroupCounters> kThrottleKeys[] = {{"nr_throttled", &CgroupCounters::throttled_periods},
                                                                {"throttled_time", &CgroupCounters::throttled_ns}};
constexpr procfs::KeyedCount<CgroupCounters> kTickKeys[] = {{"user", &CgroupCounters::user_ns},
                                                            {"system", &CgroupCounters::system_ns}};
constexpr procfs::KeyedCount<CgroupCounters> kOomKeys[] = {{"oom_kill", &CgroupCounters::oom_kills}};
constexpr procfs::KeyedCount<CgroupGauges> kMemoryKeysV2[] = {{"file", &CgroupGauges::cache}, {"anon", &CgroupGauges::rss}};
constexpr procfs::KeyedCount<CgroupGauges> kMemoryKeysV1[] = {
    {"total_cache", &CgroupGauges::cache}, {"total_rss", &CgroupGauges::rss}, {"total_swap", &CgroupGauges::swap}};

}  // namespace

bool has_option(std::string_view options, std::string_view wanted) {
  while (!options.empty())
    if (core::cut_at(options, ',') == wanted) return true;
  return false;
}

std::vector<Hierarchy> find_hierarchies(const std::vector<procfs::Mount> &mounts) {
  std::vector<Hierarchy> result;
  std::vector<std::string_view> devices;  // a hierarchy may be mounted several times
  for (const procfs::Mount &mount : mounts) {
    if (mount.type != "cgroup" && mount.type != "cgroup2") continue;
    if (std::find(devices.begin(), devices.end(), mount.device) != devices.end()) continue;
    Hierarchy hierarchy = mount.type == "cgroup2" ? hierarchy_v2(mounts) : hierarchy_v1(mount);
    const bool read = hierarchy.v2 || hierarchy.cpu || hierarchy.cpuacct || hierarchy.memory || hierarchy.io || hierarchy.tasks;
    const std::string path = procfs::unescape_mount(mount.mount_point);
    if (!read || path.size() < 2) continue;
    hierarchy.path = path.substr(1);
    devices.push_back(mount.device);
    result.push_back(std::move(hierarchy));
  }
  return result;
}

std::vector<uint64_t> parse_stacked_majors(std::string_view text) {
  std::vector<uint64_t> majors;
  bool block = false;
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    block = block || line.starts_with("Block devices:");
    uint64_t major = 0;
    if (!block || !procfs::next_number(line, major)) continue;
    const std::string_view name = procfs::next_word(line);
    if (name == "device-mapper" || name == "md" || name == "mdp" || name == "loop") majors.push_back(major);
  }
  return majors;
}

procfs::Count parse_amount(std::string_view text) {
  procfs::Count amount;
  procfs::take_counts(text, {&amount});
  return amount;
}

procfs::Count parse_limit(std::string_view text) {
  const procfs::Count limit = parse_amount(text);
  return limit && *limit < kNoLimit ? limit : std::nullopt;
}

void parse_cpu_stat_v2(std::string_view text, CgroupCounters &out) {
  MicrosecondTimes times_us;
  parse_keyed(text, kTimeKeys, times_us);
  parse_keyed(text, kThrottleKeys, out);
  out.usage_ns = times(times_us.usage, 1000);
  out.user_ns = times(times_us.user, 1000);
  out.system_ns = times(times_us.system, 1000);
  out.throttled_ns = times(times_us.throttled, 1000);
}

void parse_cpu_stat_v1(std::string_view text, CgroupCounters &out) {
  parse_keyed(text, kThrottleKeys, out);
}

void parse_cpuacct_stat(std::string_view text, uint64_t ns_per_tick, CgroupCounters &out) {
  parse_keyed(text, kTickKeys, out);
  out.user_ns = times(out.user_ns, ns_per_tick);
  out.system_ns = times(out.system_ns, ns_per_tick);
}

// A quota of "max" or -1 means no limit.
std::optional<double> cores_of_quota(procfs::Count quota_us, procfs::Count period_us) {
  if (!quota_us || !period_us || *period_us == 0) return std::nullopt;
  return static_cast<double>(*quota_us) / static_cast<double>(*period_us);
}

std::optional<double> parse_cpu_max(std::string_view text) {
  procfs::Count quota, period;
  procfs::take_counts(text, {&quota, &period});
  return cores_of_quota(quota, period);
}

void parse_memory_stat_v2(std::string_view text, CgroupGauges &out) {
  parse_keyed(text, kMemoryKeysV2, out);
}

void parse_memory_stat_v1(std::string_view text, CgroupGauges &out) {
  parse_keyed(text, kMemoryKeysV1, out);
}

void parse_oom_kills(std::string_view text, CgroupCounters &out) {
  parse_keyed(text, kOomKeys, out);
}

void parse_io_stat(std::string_view text, const std::vector<uint64_t> &stacked_majors, CgroupCounters &out) {
  out.read_bytes = out.write_bytes = out.reads = out.writes = 0;  // a device without I/O has no line
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    if (!counts_device(procfs::next_word(line), stacked_majors)) continue;
    for (std::string_view word = procfs::next_word(line); !word.empty(); word = procfs::next_word(line)) {
      const size_t equals = word.find('=');
      uint64_t value = 0;
      if (equals == std::string_view::npos || !procfs::whole_number(word.substr(equals + 1), value)) continue;
      const std::string_view key = word.substr(0, equals);
      if (key == "rbytes") add(out.read_bytes, value);
      if (key == "wbytes") add(out.write_bytes, value);
      if (key == "rios") add(out.reads, value);
      if (key == "wios") add(out.writes, value);
    }
  }
}

void parse_blkio(std::string_view text, const std::vector<uint64_t> &stacked_majors, procfs::Count &reads, procfs::Count &writes) {
  reads = writes = 0;
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    if (!counts_device(procfs::next_word(line), stacked_majors)) continue;
    const std::string_view direction = procfs::next_word(line);
    uint64_t value = 0;
    if (!procfs::next_number(line, value)) continue;
    if (direction == "Read") add(reads, value);
    if (direction == "Write") add(writes, value);
  }
}

}  // namespace atalaya::cgroup
