// SPDX-License-Identifier: Apache-2.0
// Converts readings of the host to the values of its metrics.
#pragma once

#include <sys/timex.h>

#include <string>
#include <vector>

#include "plugins/shared/host/procfs/host_reader.h"
#include "plugins/sources/proc/host/host_metrics.h"

namespace atalaya::proc {

// Formulas of sys.cpu.usage and sys.mem.usage: those of Atalaya, or those of the reference program, for dashboards made for it.
enum class Formulas { atalaya, reference };

struct Units {
  double ticks_per_second = 100;
  double page_bytes = 4096;
};

// The speed of an interface's link; absent where the driver does not report it.
struct Link {
  procfs::Count mbit_per_second;
  bool half_duplex = false;
};

void core_values(const procfs::Readings<procfs::CoreTimes> &core, double ticks_per_second, Formulas formulas, HostValues &out);
void activity_values(const procfs::Readings<procfs::Activity> &activity, HostValues &out);
void memory_values(const procfs::Memory &memory, Formulas formulas, HostValues &out);
void memory_paging_values(const procfs::Readings<procfs::Paging> &paging, HostValues &out);
void swap_values(const procfs::Memory &memory, HostValues &out);
void swap_paging_values(const procfs::Readings<procfs::Paging> &paging, double page_bytes, HostValues &out);
void disk_values(const procfs::Readings<procfs::DiskCounters> &disk, HostValues &out);
void interface_values(const procfs::Readings<procfs::InterfaceCounters> &interface, const Link &link, HostValues &out);
void load_values(const procfs::Load &load, HostValues &out);
void clock_values(const timex &clock, HostValues &out);

// The names of the four metrics of one resource's pressure.
template <class Values>
struct PressureNames {
  typename Values::Name some, some_stall, full, full_stall;
};

template <class Values>
void pressure_values(const procfs::Pressure &pressure, const procfs::Readings<procfs::PressureTotals> &totals,
                     const PressureNames<Values> &names, Values &out) {
  constexpr double kPercentOfMicroseconds = 100.0 / 1e6;
  out.set(names.some, pressure.some_avg10);
  out.set(names.some_stall, totals.per_second(&procfs::PressureTotals::some, kPercentOfMicroseconds));
  out.set(names.full, pressure.full_avg10);
  out.set(names.full_stall, totals.per_second(&procfs::PressureTotals::full, kPercentOfMicroseconds));
}

// The result of statvfs(3).
struct Space {
  uint64_t block_bytes = 0, blocks = 0, free = 0, available = 0, inodes = 0, free_inodes = 0;
};
void space_values(const Space &space, HostValues &out);

struct FileSystem {
  std::string device, disk, mount;  // such as "8:1", "sda1" (the mount's source without /dev/), "/var"
};
// Returns the mounts whose type is in `types`, one per device: the mount of the device's root if it exists, else its first bind
// mount. A mount that is hidden by a later one on the same folder is omitted.
std::vector<FileSystem> select_file_systems(const std::vector<procfs::Mount> &mounts, const std::vector<std::string> &types);

}  // namespace atalaya::proc
