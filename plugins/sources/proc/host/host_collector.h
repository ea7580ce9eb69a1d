// SPDX-License-Identifier: Apache-2.0
// Emits samples of the host: cores, memory, swap, disks, interfaces, file systems, pressure, load, clock and activity.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/sources/proc/host/host_file_systems.h"
#include "plugins/sources/proc/host/host_model.h"
#include "plugins/sources/proc/host/host_options.h"
#include "plugins/sources/proc/host/host_text_reader.h"

namespace atalaya::proc {

// The signature of adjtimex(2), which returns -1 and sets errno on failure.
using ReadClock = int (*)(timex *);

class HostCollector {
 public:
  HostCollector(Host host, HostOptions options, FileSystemQueryOptions file_systems = {}, ReadClock read_clock = ::adjtimex);
  void start();
  void stop() { spaces_.stop(); }
  void collect(const Window &window, Batch &batch);

 private:
  void forget();
  void collect_stat(Batch &batch);
  void collect_memory(Batch &batch);
  void collect_disks(Batch &batch);
  void collect_interfaces(Batch &batch);
  void collect_file_systems(Batch &batch);
  void collect_pressure(Batch &batch);
  void collect_load(Batch &batch);
  void collect_clock(Batch &batch);

  // Whether the files below the root are those of the running kernel, not a recording.
  bool reads_running_kernel();
  bool wanted(procfs::DiskType type) const;
  const Link &link_of(std::string_view interface, int64_t now_ns);
  void find_file_systems(std::string_view mountinfo);
  void warn_unresponsive();

  Host host_;
  HostOptions options_;
  TextReader reader_;
  io::MetricEmitter<kHostMetrics> emitter_;
  uint32_t core_, disk_, interface_, mount_;  // names of the tags
  Units units_;
  HostValues values_;

  Input stat_input_{procfs::PersistentFile("proc/stat"), "sys.cpu, sys.tasks, sys.interrupts and sys.context are"};
  procfs::Stat stat_;
  procfs::History<procfs::CoreTimes> cores_;
  procfs::Last<procfs::Activity> activity_;

  Input meminfo_input_{procfs::PersistentFile("proc/meminfo"), "sys.mem and sys.swap are"};
  Input vmstat_input_{procfs::PersistentFile("proc/vmstat"), "the rates of sys.mem and sys.swap are"};
  procfs::Last<procfs::Paging> paging_;

  Input diskstats_input_{procfs::PersistentFile("proc/diskstats"), "sys.disk is"};
  std::vector<procfs::Disk> disk_list_;
  procfs::History<procfs::DiskCounters> disks_;

  std::optional<Input> net_dev_input_;
  std::vector<procfs::Interface> interface_list_;
  procfs::History<procfs::InterfaceCounters> interfaces_;
  std::map<std::string, Link, std::less<>> links_;
  int64_t reading_ns_ = 0;  // monotonic time of the window, for rates
  int64_t links_at_ns_ = 0;

  std::optional<Input> mountinfo_input_;
  std::string mountinfo_;  // the text that was parsed last; it is parsed again only after a change
  std::optional<std::vector<FileSystem>> file_systems_;
  FileSystemSpaces spaces_;
  int64_t next_space_ns_ = 0;
  std::vector<std::string> unresponsive_;  // mount points that were logged

  std::array<Input, 3> pressure_inputs_{{{procfs::PersistentFile("proc/pressure/cpu"), "sys.pressure.cpu is"},
                                         {procfs::PersistentFile("proc/pressure/memory"), "sys.pressure.memory is"},
                                         {procfs::PersistentFile("proc/pressure/io"), "sys.pressure.io is"}}};
  std::array<procfs::Last<procfs::PressureTotals>, 3> pressure_;

  Input loadavg_input_{procfs::PersistentFile("proc/loadavg"), "sys.load and sys.tasks.total are"};
  Input uptime_input_{procfs::PersistentFile("proc/uptime"), "sys.uptime is"};

  ReadClock read_clock_;
  bool has_clock_ = false;
};

}  // namespace atalaya::proc
