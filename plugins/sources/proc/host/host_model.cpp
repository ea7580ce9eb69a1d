// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/host/host_model.h"

#include <algorithm>
#include <map>

namespace atalaya::proc {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kSectorBytes = 512;  // of /proc/diskstats, whatever the disk's own sectors are

std::optional<double> mib_of_kib(procfs::Count kib) {
  return kib ? std::optional(static_cast<double>(*kib) / 1024) : std::nullopt;
}

std::optional<double> quotient(std::optional<double> amount, std::optional<double> of) {
  if (!amount || !of || *of <= 0) return std::nullopt;
  return *amount / *of;
}

// Returns the share of `total` without `rest`, in per cent.
std::optional<double> percent_used(procfs::Count rest, procfs::Count total) {
  if (!rest || !total || *total == 0 || *rest > *total) return std::nullopt;
  return 100.0 * static_cast<double>(*total - *rest) / static_cast<double>(*total);
}

// Returns the top mount of each folder, in the order of the file.
std::vector<const procfs::Mount *> visible(const std::vector<procfs::Mount> &mounts) {
  std::map<std::string_view, const procfs::Mount *> top;
  for (const procfs::Mount &mount : mounts) top[mount.mount_point] = &mount;
  std::vector<const procfs::Mount *> result;
  for (const procfs::Mount &mount : mounts)
    if (top[mount.mount_point] == &mount) result.push_back(&mount);
  return result;
}

}  // namespace

void core_values(const procfs::Readings<procfs::CoreTimes> &core, double ticks_per_second, Formulas formulas, HostValues &out) {
  using T = procfs::CoreTimes;
  const double percent = 100.0 / ticks_per_second;
  // A core has no more time than passed, to within a tick of each counter and one of the time. The kernel's steal time of a virtual
  // machine may jump by 2^60 ticks.
  const auto share = [&](std::initializer_list<procfs::Readings<T>::Member> members) {
    const std::optional<double> value = core.per_second(members, percent);
    const double maximum = 100 + static_cast<double>(members.size() + 1) * percent / core.seconds();
    return value && *value <= maximum ? value : std::nullopt;
  };
  out.set("sys.cpu.user", share({&T::user, &T::nice}));
  out.set("sys.cpu.kernel", share({&T::system}));
  out.set("sys.cpu.idle", share({&T::idle}));
  out.set("sys.cpu.wait", share({&T::iowait}));
  out.set("sys.cpu.usage", formulas == Formulas::reference ? share({&T::user, &T::nice, &T::system, &T::iowait})
                                                           : share({&T::user, &T::nice, &T::system, &T::irq, &T::softirq}));
  out.set("sys.cpu.nice", share({&T::nice}));
  out.set("sys.cpu.irq", share({&T::irq}));
  out.set("sys.cpu.softirq", share({&T::softirq}));
  out.set("sys.cpu.steal", share({&T::steal}));
  out.set("sys.cpu.guest", share({&T::guest, &T::guest_nice}));
}

void activity_values(const procfs::Readings<procfs::Activity> &activity, HostValues &out) {
  out.set_count("sys.tasks.running", activity.now().running);
  out.set_count("sys.tasks.blocked", activity.now().blocked);
  out.set("sys.tasks.created", activity.per_second(&procfs::Activity::created));
  out.set("sys.interrupts", activity.per_second(&procfs::Activity::interrupts));
  out.set("sys.interrupts.soft", activity.per_second(&procfs::Activity::soft_interrupts));
  out.set("sys.context.switches", activity.per_second(&procfs::Activity::context_switches));
}

void memory_values(const procfs::Memory &memory, Formulas formulas, HostValues &out) {
  out.set("sys.mem.total", mib_of_kib(memory.total));
  out.set("sys.mem.free", mib_of_kib(memory.free));
  out.set("sys.mem.available", mib_of_kib(memory.available));
  out.set("sys.mem.usage", percent_used(formulas == Formulas::reference ? memory.free : memory.available, memory.total));
  out.set("sys.mem.buffers", mib_of_kib(memory.buffers));
  out.set("sys.mem.cached", mib_of_kib(memory.cached));
  out.set("sys.mem.active", mib_of_kib(memory.active));
  out.set("sys.mem.inactive", mib_of_kib(memory.inactive));
  out.set("sys.mem.dirty", mib_of_kib(memory.dirty));
  out.set("sys.mem.writeback", mib_of_kib(memory.writeback));
  out.set("sys.mem.slab", mib_of_kib(memory.slab));
  out.set("sys.mem.shared", mib_of_kib(memory.shared));
}

void memory_paging_values(const procfs::Readings<procfs::Paging> &paging, HostValues &out) {
  out.set("sys.mem.pgin.bytes", paging.per_second(&procfs::Paging::kib_in, 1024));
  out.set("sys.mem.pgout.bytes", paging.per_second(&procfs::Paging::kib_out, 1024));
  const std::optional<double> all = paging.per_second(&procfs::Paging::faults);
  const std::optional<double> major = paging.per_second(&procfs::Paging::major_faults);
  // The kernel sums the two counters over the cores at different times.
  if (all && major && *all >= *major) out.set("sys.mem.faults.minor", *all - *major);
  out.set("sys.mem.faults.major", major);
  out.set_count("sys.mem.oom.kills", paging.delta_of(&procfs::Paging::oom_kills));
}

void swap_values(const procfs::Memory &memory, HostValues &out) {
  out.set("sys.swap.total", mib_of_kib(memory.swap_total));
  out.set("sys.swap.free", mib_of_kib(memory.swap_free));
  out.set("sys.swap.cached", mib_of_kib(memory.swap_cached));
}

void swap_paging_values(const procfs::Readings<procfs::Paging> &paging, double page_bytes, HostValues &out) {
  out.set("sys.swap.in.bytes", paging.per_second(&procfs::Paging::swap_pages_in, page_bytes));
  out.set("sys.swap.out.bytes", paging.per_second(&procfs::Paging::swap_pages_out, page_bytes));
}

void disk_values(const procfs::Readings<procfs::DiskCounters> &disk, HostValues &out) {
  using D = procfs::DiskCounters;
  out.set("sys.disk.read.mb", disk.per_second(&D::sectors_read, kSectorBytes / kMiB));
  out.set("sys.disk.read.ios", disk.per_second(&D::reads));
  out.set("sys.disk.read.merges", disk.per_second(&D::reads_merged));
  out.set("sys.disk.read.time", disk.per_second(&D::read_ms));
  out.set("sys.disk.read.await", quotient(disk.increase(&D::read_ms), disk.increase(&D::reads)));
  out.set("sys.disk.write.mb", disk.per_second(&D::sectors_written, kSectorBytes / kMiB));
  out.set("sys.disk.write.ios", disk.per_second(&D::writes));
  out.set("sys.disk.write.merges", disk.per_second(&D::writes_merged));
  out.set("sys.disk.write.time", disk.per_second(&D::write_ms));
  out.set("sys.disk.write.await", quotient(disk.increase(&D::write_ms), disk.increase(&D::writes)));
  out.set("sys.disk.discard.bytes", disk.per_second(&D::sectors_discarded, kSectorBytes));
  out.set("sys.disk.discard.ios", disk.per_second(&D::discards));
  out.set("sys.disk.flush.ios", disk.per_second(&D::flushes));
  out.set("sys.disk.usage", disk.per_second(&D::busy_ms, 100.0 / 1000));
  out.set("sys.disk.queue", disk.per_second(&D::queue_ms, 1.0 / 1000));
}

void interface_values(const procfs::Readings<procfs::InterfaceCounters> &interface, const Link &link, HostValues &out) {
  using I = procfs::InterfaceCounters;
  out.set("sys.net.in.mb", interface.per_second(&I::bytes_in, 8 / kMiB));
  out.set("sys.net.in.packets", interface.per_second(&I::packets_in));
  out.set("sys.net.in.errors", interface.per_second(&I::errors_in));
  out.set("sys.net.in.drops", interface.per_second(&I::drops_in));
  out.set("sys.net.out.mb", interface.per_second(&I::bytes_out, 8 / kMiB));
  out.set("sys.net.out.packets", interface.per_second(&I::packets_out));
  out.set("sys.net.out.errors", interface.per_second(&I::errors_out));
  out.set("sys.net.out.drops", interface.per_second(&I::drops_out));
  if (!link.mbit_per_second || *link.mbit_per_second == 0) return;
  const double capacity = static_cast<double>(*link.mbit_per_second) * 1e6 * (link.half_duplex ? 1 : 2);
  out.set("sys.net.usage", interface.per_second({&I::bytes_in, &I::bytes_out}, 100 * 8 / capacity));
}

void load_values(const procfs::Load &load, HostValues &out) {
  out.set("sys.load.1m", load.one);
  out.set("sys.load.5m", load.five);
  out.set("sys.load.15m", load.fifteen);
  out.set_count("sys.tasks.total", load.tasks);
}

void clock_values(const timex &clock, HostValues &out) {
  const auto status = static_cast<unsigned>(clock.status);
  const bool synced = (status & STA_UNSYNC) == 0;
  out.set_count("sys.clock.synced", synced ? 1 : 0);
  if (!synced) return;  // the kernel has its defaults then: 0 and 16 s
  const double per_ms = (status & STA_NANO) != 0 ? 1e6 : 1e3;
  out.set("sys.clock.offset", static_cast<double>(clock.offset) / per_ms);
  out.set("sys.clock.error", static_cast<double>(clock.maxerror) / 1e3);
}

void space_values(const Space &space, HostValues &out) {
  if (space.blocks == 0 || space.free > space.blocks) return;
  const auto mib = [&space](uint64_t blocks) {
    return static_cast<double>(blocks) * static_cast<double>(space.block_bytes) / kMiB;
  };
  const uint64_t used = space.blocks - space.free;
  out.set("sys.fs.size", mib(space.blocks));
  out.set("sys.fs.used", mib(used));
  out.set("sys.fs.free", mib(space.free));
  out.set("sys.fs.available", mib(space.available));
  out.set("sys.fs.usage",
          quotient(100.0 * static_cast<double>(used), static_cast<double>(used) + static_cast<double>(space.available)));
  if (space.inodes == 0) return;  // btrfs and vfat allocate inodes dynamically
  out.set_count("sys.fs.inodes.total", space.inodes);
  out.set_count("sys.fs.inodes.free", space.free_inodes);
}

std::vector<FileSystem> select_file_systems(const std::vector<procfs::Mount> &mounts, const std::vector<std::string> &types) {
  std::vector<const procfs::Mount *> chosen;
  for (const procfs::Mount *mount : visible(mounts)) {
    if (std::find(types.begin(), types.end(), mount->type) == types.end()) continue;
    const auto same =
        std::find_if(chosen.begin(), chosen.end(), [mount](const procfs::Mount *other) { return other->device == mount->device; });
    if (same == chosen.end())
      chosen.push_back(mount);
    else if ((*same)->root != "/" && mount->root == "/")
      *same = mount;
  }
  std::vector<FileSystem> result;
  for (const procfs::Mount *mount : chosen) {
    std::string disk = procfs::unescape_mount(mount->source);
    if (disk.starts_with("/dev/")) disk.erase(0, 5);
    result.push_back({std::string(mount->device), std::move(disk), procfs::unescape_mount(mount->mount_point)});
  }
  return result;
}

}  // namespace atalaya::proc
