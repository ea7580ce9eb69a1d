// SPDX-License-Identifier: Apache-2.0
// The files about the host and its cgroups. Each parser gets the whole input; its results go through the model.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "plugins/sources/proc/cgroup/cgroup_model.h"
#include "plugins/sources/proc/host/host_model.h"

using namespace atalaya;
using namespace atalaya::proc;
using namespace atalaya::procfs;

namespace {

template <class Values>
void check(Values &values) {
  for (const atalaya_field &field : values.fields())
    if (!(atalaya::as_double(field) >= 0) || std::isinf(atalaya::as_double(field))) std::abort();
  values.clear();
}

// A reading one second after another.
template <class Reading>
procfs::Readings<Reading> since(const Reading &now, const Reading &before) {
  return {now, &before, 1};
}

void host(std::string_view text) {
  HostValues values;
  procfs::Stat stat;
  procfs::parse_stat(text, stat);
  procfs::CoreTimes before{0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  for (const procfs::Core &core : stat.cores) {
    core_values(since(core.times, before), 100, Formulas::atalaya, values);
    check(values);
    before = core.times;
  }
  memory_values(procfs::parse_meminfo(text), Formulas::reference, values);
  check(values);
  const procfs::Paging paging = parse_vmstat(text);
  const procfs::Paging zero{0, 0, 0, 0, 0, 0, 0};
  memory_paging_values(since(paging, zero), values);
  check(values);
  std::vector<procfs::Disk> disks;
  procfs::parse_diskstats(text, disks);
  for (const procfs::Disk &disk : disks) {
    disk_values(since(disk.counters, disks.front().counters), values);
    check(values);
  }
  std::vector<procfs::Interface> interfaces;
  procfs::parse_net_dev(text, interfaces);
  for (const procfs::Interface &interface : interfaces) {
    interface_values(since(interface.counters, interfaces.front().counters), {1, false}, values);
    check(values);
  }
  load_values(procfs::parse_loadavg(text), values);
  values.set("sys.uptime", procfs::parse_uptime(text));
  check(values);
}

void mounts(std::string_view text) {
  std::vector<procfs::Mount> list;
  procfs::parse_mountinfo(text, list);
  select_file_systems(list, {"ext4", "cgroup"});
  atalaya::cgroup::find_hierarchies(list);
}

void control_group(std::string_view text) {
  atalaya::cgroup::CgroupReading v1, v2;
  v2.cpu = v2.memory = v2.io = procfs::parse_pressure(text);
  v2.gauges.memory_limit = atalaya::cgroup::parse_limit(text);
  v2.gauges.cpu_limit = atalaya::cgroup::parse_cpu_max(text);
  atalaya::cgroup::parse_cpu_stat_v2(text, v2.counters);
  atalaya::cgroup::parse_memory_stat_v2(text, v2.gauges);
  atalaya::cgroup::parse_oom_kills(text, v2.counters);
  atalaya::cgroup::parse_io_stat(text, atalaya::cgroup::parse_stacked_majors(text), v2.counters);
  atalaya::cgroup::parse_cpu_stat_v1(text, v1.counters);
  atalaya::cgroup::parse_cpuacct_stat(text, 10'000'000, v1.counters);
  atalaya::cgroup::parse_memory_stat_v1(text, v1.gauges);
  atalaya::cgroup::parse_blkio(text, {}, v1.counters.reads, v1.counters.writes);
  CgroupHistory history;
  CgroupValues values;
  cgroup_values(v1, 0, history, values);
  check(values);
  cgroup_values(v2, 1, history, values);
  check(values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {  // NOLINT(readability-identifier-naming)
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  host(text);
  mounts(text);
  control_group(text);
  return 0;
}
