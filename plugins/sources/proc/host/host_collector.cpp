// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/host/host_collector.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "plugins/sources/proc/turns.h"

namespace atalaya::proc {
namespace {

// Reading a link's speed takes the kernel's lock of all interfaces, and the speed rarely changes.
constexpr int64_t kLinkAgeNs = int64_t{60} * 1'000'000'000;

constexpr std::array<PressureNames<HostValues>, 3> kPressureNames = {{
    {"sys.pressure.cpu.some", "sys.pressure.cpu.some.stall", "sys.pressure.cpu.full", "sys.pressure.cpu.full.stall"},
    {"sys.pressure.memory.some", "sys.pressure.memory.some.stall", "sys.pressure.memory.full", "sys.pressure.memory.full.stall"},
    {"sys.pressure.io.some", "sys.pressure.io.some.stall", "sys.pressure.io.full", "sys.pressure.io.full.stall"},
}};

// The kernel's name of a block device ("8:1" -> "sda1"), as in /proc/diskstats.
std::optional<std::string> block_device_name(int root, const std::string &device) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(root, ("sys/dev/block/" + device).c_str(), target.data(), target.size());
  if (size <= 0) return std::nullopt;
  const std::string_view path(target.data(), static_cast<size_t>(size));
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace

HostCollector::HostCollector(Host host, HostOptions options, FileSystemQueryOptions file_systems, ReadClock read_clock)
    : host_(host),
      options_(std::move(options)),
      reader_(host, options_.root),
      emitter_(host),
      core_(host.intern("core")),
      disk_(host.intern("disk")),
      interface_(host.intern("interface")),
      mount_(host.intern("mount")),
      spaces_(std::move(file_systems)),
      read_clock_(read_clock) {
  units_.ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  units_.page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void HostCollector::start() {
  reader_.open();
  net_dev_input_.emplace(Input{procfs::PersistentFile(reader_.process_path("net/dev")), "sys.net is"});
  has_clock_ = reads_running_kernel();
  // Below another root, mount points are paths of the other host: statvfs would read folders of this one.
  if (!reader_.is_host()) return;
  mountinfo_input_.emplace(Input{procfs::PersistentFile(reader_.process_path("mountinfo")), "sys.fs is"});
  spaces_.start();
}

void HostCollector::collect(const Window &window, Batch &batch) {
  if ((window.flags & ATALAYA_WINDOW_BASELINE) != 0) forget();
  reading_ns_ = window.monotonic_ns;
  collect_stat(batch);
  collect_memory(batch);
  collect_disks(batch);
  collect_interfaces(batch);
  collect_file_systems(batch);
  collect_pressure(batch);
  collect_load(batch);
  collect_clock(batch);
}

void HostCollector::forget() {
  cores_.forget();
  activity_.forget();
  paging_.forget();
  disks_.forget();
  interfaces_.forget();
  for (procfs::Last<procfs::PressureTotals> &totals : pressure_) totals.forget();
}

void HostCollector::collect_stat(Batch &batch) {
  const auto text = reader_.read(stat_input_);
  if (!text) return;
  parse_stat(*text, stat_);
  cores_.begin(reading_ns_);
  for (const procfs::Core &core : stat_.cores) {
    values_.clear();
    core_values(cores_.exchange(core.number, core.times), units_.ticks_per_second, options_.formulas, values_);
    emitter_.emit(batch, values_, {{core_, core.number}});
  }
  cores_.end();
  values_.clear();
  activity_values(activity_.exchange(stat_.activity, reading_ns_), values_);
  emitter_.emit(batch, values_, {});
}

void HostCollector::collect_memory(Batch &batch) {
  procfs::Memory memory;
  if (const auto text = reader_.read(meminfo_input_)) memory = procfs::parse_meminfo(*text);
  procfs::Paging now;
  if (const auto text = reader_.read(vmstat_input_)) now = procfs::parse_vmstat(*text);
  const procfs::Readings<procfs::Paging> paging = paging_.exchange(now, reading_ns_);
  values_.clear();
  memory_values(memory, options_.formulas, values_);
  memory_paging_values(paging, values_);
  emitter_.emit(batch, values_, {});
  values_.clear();
  swap_values(memory, values_);
  swap_paging_values(paging, units_.page_bytes, values_);
  emitter_.emit(batch, values_, {});
}

void HostCollector::collect_disks(Batch &batch) {
  const auto text = reader_.read(diskstats_input_);
  if (!text) return;
  parse_diskstats(*text, disk_list_);
  disks_.begin(reading_ns_);
  for (const procfs::Disk &disk : disk_list_) {
    if (!wanted(disk.type)) continue;
    values_.clear();
    disk_values(disks_.exchange(disk.name, disk.counters), values_);
    emitter_.emit(batch, values_, {{disk_, disk.name}});
  }
  disks_.end();
}

bool HostCollector::wanted(procfs::DiskType type) const {
  switch (type) {
    case procfs::DiskType::part:
      return options_.partitions;
    case procfs::DiskType::loop:
      return options_.loop_disks;
    case procfs::DiskType::ram:
      return options_.ram_disks;
    case procfs::DiskType::whole:
      break;
  }
  return true;
}

void HostCollector::collect_interfaces(Batch &batch) {
  const auto text = reader_.read(*net_dev_input_);
  if (!text) return;
  parse_net_dev(*text, interface_list_);
  interfaces_.begin(reading_ns_);
  for (const procfs::Interface &interface : interface_list_) {
    if (interface.name == "lo" && !options_.loopback) continue;
    values_.clear();
    interface_values(interfaces_.exchange(interface.name, interface.counters), link_of(interface.name, reading_ns_), values_);
    emitter_.emit(batch, values_, {{interface_, interface.name}});
  }
  interfaces_.end();
}

const Link &HostCollector::link_of(std::string_view interface, int64_t now_ns) {
  if (now_ns - links_at_ns_ > kLinkAgeNs) {
    links_.clear();
    links_at_ns_ = now_ns;
  }
  const auto found = links_.find(interface);
  if (found != links_.end()) return found->second;
  const std::string folder = "sys/class/net/" + std::string(interface) + "/";
  std::array<char, 64> buffer{};
  Link link;
  // Wireless links return an error and virtual links -1: neither is a speed.
  if (const procfs::FileText speed = procfs::read_path(reader_.folder(), (folder + "speed").c_str(), buffer); speed.ok())
    procfs::take_counts(speed.text, {&link.mbit_per_second});
  if (const procfs::FileText duplex = procfs::read_path(reader_.folder(), (folder + "duplex").c_str(), buffer); duplex.ok())
    link.half_duplex = duplex.text == "half\n";
  return links_.emplace(interface, link).first->second;
}

void HostCollector::collect_file_systems(Batch &batch) {
  const int64_t now_ns = host_.monotonic();
  if (!mountinfo_input_ || now_ns < next_space_ns_) return;
  next_space_ns_ = now_ns + kMinTurn_ns;
  if (mountinfo_input_->file.may_have_changed() || !file_systems_) {
    const auto text = reader_.read(*mountinfo_input_);
    if (!text) return;
    if (!file_systems_ || *text != mountinfo_) find_file_systems(*text);
  }
  if (file_systems_->empty()) return;
  const std::vector<std::optional<Space>> &spaces = spaces_.query(*file_systems_);
  warn_unresponsive();
  for (size_t i = 0; i < file_systems_->size(); ++i) {
    if (!spaces[i]) continue;
    values_.clear();
    space_values(*spaces[i], values_);
    emitter_.emit(batch, values_, {{disk_, (*file_systems_)[i].disk}, {mount_, (*file_systems_)[i].mount}});
  }
}

void HostCollector::warn_unresponsive() {
  std::vector<std::string> unresponsive = spaces_.unresponsive();
  for (const std::string &mount : unresponsive)
    if (std::find(unresponsive_.begin(), unresponsive_.end(), mount) == unresponsive_.end())
      host_.log(Level::warning,
                "the file system at " + mount +
                    " does not respond: its sys.fs is absent until it does; repair or unmount it, or remove its type from "
                    "the parameter file_systems");
  unresponsive_ = std::move(unresponsive);
}

void HostCollector::find_file_systems(std::string_view mountinfo) {
  mountinfo_ = mountinfo;
  std::vector<procfs::Mount> mounts;
  parse_mountinfo(mountinfo, mounts);
  std::vector<FileSystem> selected = select_file_systems(mounts, options_.file_systems);
  for (FileSystem &file_system : selected)
    if (auto name = block_device_name(reader_.folder(), file_system.device)) file_system.disk = std::move(*name);
  file_systems_ = std::move(selected);
}

void HostCollector::collect_pressure(Batch &batch) {
  values_.clear();
  for (size_t i = 0; i < pressure_inputs_.size(); ++i) {
    const auto text = reader_.read(pressure_inputs_[i]);
    if (!text) continue;
    const procfs::Pressure pressure = procfs::parse_pressure(*text);
    pressure_values(pressure, pressure_[i].exchange(pressure.totals, reading_ns_), kPressureNames[i], values_);
  }
  emitter_.emit(batch, values_, {});
}

void HostCollector::collect_load(Batch &batch) {
  values_.clear();
  if (const auto text = reader_.read(loadavg_input_)) load_values(procfs::parse_loadavg(*text), values_);
  if (const auto text = reader_.read(uptime_input_)) values_.set("sys.uptime", procfs::parse_uptime(*text));
  emitter_.emit(batch, values_, {});
}

// If the call is refused once, for example by a system call filter, it is not tried again.
void HostCollector::collect_clock(Batch &batch) {
  if (!has_clock_) return;
  timex clock{};  // modes 0: reads the clock, changes nothing
  if (read_clock_(&clock) < 0) {
    has_clock_ = false;
    host_.log(Level::info, "cannot read the state of the clock: " + core::error_text(errno) +
                               "; sys.clock is absent; allow the system calls adjtimex and clock_adjtime");
    return;
  }
  values_.clear();
  clock_values(clock, values_);
  emitter_.emit(batch, values_, {});
}

bool HostCollector::reads_running_kernel() {
  if (reader_.is_host()) return true;
  const std::string there(reader_.read(reader_.folder(), "proc/sys/kernel/random/boot_id").value_or(""));
  return !there.empty() && reader_.read(AT_FDCWD, "/proc/sys/kernel/random/boot_id") == there;
}

}  // namespace atalaya::proc
