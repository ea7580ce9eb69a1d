// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/cgroup/cgroup_collector.h"

#include <sys/stat.h>
#include <unistd.h>

namespace atalaya::proc {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

}  // namespace

CgroupCollector::CgroupCollector(Host host, CgroupOptions options)
    : host_(host),
      options_(std::move(options)),
      reader_(host, options_.root),
      emitter_(host),
      cgroup_tag_(host.intern("cgroup")),
      ns_per_tick_(kNsPerSecond / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK))),
      walk_(options_.depth) {}

void CgroupCollector::start() {
  reader_.open();
  Input mountinfo{procfs::PersistentFile(reader_.process_path("mountinfo")), "cgroup samples are"};
  if (const auto text = reader_.read(mountinfo)) {
    std::vector<procfs::Mount> mounts;
    parse_mountinfo(*text, mounts);
    hierarchies_ = cgroup::find_hierarchies(mounts);
    if (hierarchies_.empty()) host_.log(Level::warning, "no cgroup file system is mounted; cgroup samples are absent");
  }
  if (const auto text = reader_.read(reader_.folder(), "proc/devices")) stacked_majors_ = cgroup::parse_stacked_majors(*text);
}

void CgroupCollector::collect(const Window &window, Batch &batch) {
  if ((window.flags & ATALAYA_WINDOW_BASELINE) != 0) cgroups_.clear();
  ++round_;
  for (const cgroup::Hierarchy &hierarchy : hierarchies_)
    walk_.run(reader_.folder(), hierarchy.path,
              [this, &hierarchy](std::string_view path, int folder) { return visit(hierarchy, path, folder); });
  for (auto at = cgroups_.begin(); at != cgroups_.end();) {
    Cgroup &cgroup = at->second;
    if (cgroup.round != round_) {
      at = cgroups_.erase(at);
      continue;
    }
    if (cgroup.identity != cgroup.last_identity) cgroup.history = {};
    cgroup.last_identity = cgroup.identity;
    values_.clear();
    cgroup_values(cgroup.reading, window.monotonic_ns, cgroup.history, values_);
    emitter_.emit(batch, values_, {{cgroup_tag_, at->first}});
    ++at;
  }
}

bool CgroupCollector::visit(const cgroup::Hierarchy &hierarchy, std::string_view path, int folder) {
  Cgroup *const cgroup = cgroup_of(path);
  if (cgroup == nullptr) return false;
  if (cgroup->round != round_) {
    cgroup->round = round_;
    cgroup->reading = {};
    cgroup->identity = 0;
  }
  struct stat found {};
  if (::fstat(folder, &found) == 0) cgroup->identity = cgroup->identity * 31 + found.st_ino;
  if (hierarchy.v2)
    read_v2(hierarchy, folder, cgroup->reading);
  else
    read_v1(hierarchy, folder, cgroup->reading);
  return true;
}

CgroupCollector::Cgroup *CgroupCollector::cgroup_of(std::string_view path) {
  const auto found = cgroups_.find(path);
  if (found != cgroups_.end()) return &found->second;
  if (cgroups_.size() < static_cast<size_t>(options_.max_cgroups)) return &cgroups_.emplace(path, Cgroup{}).first->second;
  if (!limit_logged_)
    host_.log(Level::warning, "more than " + std::to_string(options_.max_cgroups) +
                                  " cgroups: the rest has no samples and counts in the parents only; raise max_cgroups");
  limit_logged_ = true;
  return nullptr;
}

void CgroupCollector::read_v2(const cgroup::Hierarchy &hierarchy, int folder, cgroup::CgroupReading &out) {
  const auto read = [this, folder](const char *name) { return reader_.read(folder, name).value_or(std::string_view{}); };
  cgroup::CgroupGauges &gauges = out.gauges;
  if (hierarchy.cpuacct) parse_cpu_stat_v2(read("cpu.stat"), out.counters);
  if (hierarchy.cpu) gauges.cpu_limit = cgroup::parse_cpu_max(read("cpu.max"));
  if (hierarchy.memory) {
    gauges.memory = cgroup::parse_amount(read("memory.current"));
    gauges.memory_limit = cgroup::parse_limit(read("memory.max"));
    gauges.memory_high = cgroup::parse_limit(read("memory.high"));
    gauges.memory_peak = cgroup::parse_amount(read("memory.peak"));
    gauges.swap = cgroup::parse_amount(read("memory.swap.current"));
    parse_memory_stat_v2(read("memory.stat"), gauges);
    parse_oom_kills(read("memory.events"), out.counters);
  }
  if (hierarchy.io) {
    if (const auto text = reader_.read(folder, "io.stat")) parse_io_stat(*text, stacked_majors_, out.counters);
  }
  if (hierarchy.tasks) {
    gauges.tasks = cgroup::parse_amount(read("pids.current"));
    gauges.tasks_limit = cgroup::parse_limit(read("pids.max"));
  }
  out.cpu = procfs::parse_pressure(read("cpu.pressure"));
  out.memory = procfs::parse_pressure(read("memory.pressure"));
  out.io = procfs::parse_pressure(read("io.pressure"));
}

void CgroupCollector::read_v1(const cgroup::Hierarchy &hierarchy, int folder, cgroup::CgroupReading &out) {
  const auto read = [this, folder](const char *name) { return reader_.read(folder, name).value_or(std::string_view{}); };
  cgroup::CgroupGauges &gauges = out.gauges;
  if (hierarchy.cpuacct) {
    out.counters.usage_ns = cgroup::parse_amount(read("cpuacct.usage"));
    parse_cpuacct_stat(read("cpuacct.stat"), ns_per_tick_, out.counters);
  }
  if (hierarchy.cpu) {
    parse_cpu_stat_v1(read("cpu.stat"), out.counters);
    const procfs::Count quota = cgroup::parse_amount(read("cpu.cfs_quota_us"));
    const procfs::Count period = cgroup::parse_amount(read("cpu.cfs_period_us"));
    gauges.cpu_limit = cgroup::cores_of_quota(quota, period);
  }
  if (hierarchy.memory) {
    gauges.memory = cgroup::parse_amount(read("memory.usage_in_bytes"));
    gauges.memory_limit = cgroup::parse_limit(read("memory.limit_in_bytes"));
    gauges.memory_peak = cgroup::parse_amount(read("memory.max_usage_in_bytes"));
    parse_memory_stat_v1(read("memory.stat"), gauges);
    parse_oom_kills(read("memory.oom_control"), out.counters);
  }
  if (hierarchy.io) read_io_v1(folder, out.counters);
  if (hierarchy.tasks) {
    gauges.tasks = cgroup::parse_amount(read("pids.current"));
    gauges.tasks_limit = cgroup::parse_limit(read("pids.max"));
  }
}

// Older kernels only have the files without nested cgroups.
void CgroupCollector::read_io_v1(int folder, cgroup::CgroupCounters &out) {
  const auto read = [this, folder](const char *recursive, const char *own) {
    const auto text = reader_.read(folder, recursive);
    return text ? text : reader_.read(folder, own);
  };
  if (const auto text = read("blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_service_bytes"))
    cgroup::parse_blkio(*text, stacked_majors_, out.read_bytes, out.write_bytes);
  if (const auto text = read("blkio.throttle.io_serviced_recursive", "blkio.throttle.io_serviced"))
    cgroup::parse_blkio(*text, stacked_majors_, out.reads, out.writes);
}

}  // namespace atalaya::proc
