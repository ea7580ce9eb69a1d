// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/host_reader.h"
#include "core/base/text/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace atalaya::procfs {
namespace {

// Parses a number that is finite and not negative.
std::optional<double> decimal(std::string_view word) {
  double value = 0;
  const char *const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

std::string_view after(std::string_view word, std::string_view prefix) {
  return word.starts_with(prefix) ? word.substr(prefix.size()) : std::string_view{};
}

// The kernel names partition 1 of sda sda1 and that of nvme0n1 nvme0n1p1 (disk_name in block/genhd.c).
bool is_partition_of(std::string_view name, std::string_view disk) {
  if (disk.empty() || name.size() <= disk.size() || !name.starts_with(disk)) return false;
  std::string_view rest = name.substr(disk.size());
  if (core::is_digit(disk.back())) {
    if (rest.front() != 'p') return false;
    rest.remove_prefix(1);
  }
  return core::is_digits(rest);
}

// Path 1 to the NVMe disk nvme0n2 is nvme0c1n2 (drivers/nvme/host/multipath.c); empty: the name is none of a path.
std::string disk_of_path(std::string_view name) {
  const size_t controller = name.find('c'), space = name.rfind('n');
  if (!name.starts_with("nvme") || controller == std::string_view::npos || space < controller || space == std::string_view::npos)
    return "";
  const std::string_view subsystem = name.substr(4, controller - 4), number = name.substr(controller + 1, space - controller - 1);
  if (!core::is_digits(subsystem) || !core::is_digits(number) || !core::is_digits(name.substr(space + 1))) return "";
  return std::string(name.substr(0, controller)).append(name.substr(space));
}

bool has_io(const Disk &disk) {
  return disk.counters.reads.value_or(0) > 0 || disk.counters.writes.value_or(0) > 0;
}

// Kernels before 6.0 count only at the paths: then the disk is the part.
void mark_paths(std::vector<Disk> &disks) {
  for (Disk &path : disks) {
    const std::string name = disk_of_path(path.name);
    const auto disk = std::find_if(disks.begin(), disks.end(), [&](const Disk &one) { return !name.empty() && one.name == name; });
    if (disk == disks.end()) continue;
    if (has_io(path) && !has_io(*disk))
      disk->type = DiskType::part;
    else
      path.type = DiskType::part;
  }
}

DiskType disk_type(std::string_view name, std::string_view last_whole) {
  if (is_partition_of(name, last_whole)) return DiskType::part;
  if (core::is_digits(after(name, "loop"))) return DiskType::loop;
  if (core::is_digits(after(name, "ram")) || core::is_digits(after(name, "zram"))) return DiskType::ram;
  return DiskType::whole;
}

constexpr KeyedCount<Memory> kMemoryKeys[] = {
    {"MemTotal:", &Memory::total},         {"MemFree:", &Memory::free},
    {"MemAvailable:", &Memory::available}, {"Buffers:", &Memory::buffers},
    {"Cached:", &Memory::cached},          {"Active:", &Memory::active},
    {"Inactive:", &Memory::inactive},      {"Dirty:", &Memory::dirty},
    {"Writeback:", &Memory::writeback},    {"Slab:", &Memory::slab},
    {"Shmem:", &Memory::shared},           {"SwapTotal:", &Memory::swap_total},
    {"SwapCached:", &Memory::swap_cached}, {"SwapFree:", &Memory::swap_free},
};

constexpr KeyedCount<Paging> kPagingKeys[] = {
    {"pgpgin", &Paging::kib_in},          {"pgpgout", &Paging::kib_out}, {"pswpin", &Paging::swap_pages_in},
    {"pswpout", &Paging::swap_pages_out}, {"pgfault", &Paging::faults},  {"pgmajfault", &Paging::major_faults},
    {"oom_kill", &Paging::oom_kills},
};

}  // namespace

void parse_stat(std::string_view text, Stat &out) {
  out.cores.clear();
  out.activity = {};
  Activity &a = out.activity;
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    const std::string_view key = next_word(line);
    if (const std::string_view number = after(key, "cpu"); core::is_digits(number)) {
      CoreTimes t;
      take_counts(line, {&t.user, &t.nice, &t.system, &t.idle, &t.iowait, &t.irq, &t.softirq, &t.steal, &t.guest, &t.guest_nice});
      out.cores.push_back({number, t});
    } else if (key == "intr") {
      take_counts(line, {&a.interrupts});
    } else if (key == "softirq") {
      take_counts(line, {&a.soft_interrupts});
    } else if (key == "ctxt") {
      take_counts(line, {&a.context_switches});
    } else if (key == "processes") {
      take_counts(line, {&a.created});
    } else if (key == "procs_running") {
      take_counts(line, {&a.running});
    } else if (key == "procs_blocked") {
      take_counts(line, {&a.blocked});
    }
  }
}

Memory parse_meminfo(std::string_view text) {
  Memory memory;
  parse_keyed(text, kMemoryKeys, memory);
  return memory;
}

Paging parse_vmstat(std::string_view text) {
  Paging paging;
  parse_keyed(text, kPagingKeys, paging);
  return paging;
}

void parse_diskstats(std::string_view text, std::vector<Disk> &out) {
  out.clear();
  std::string_view last_whole;
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    uint64_t major = 0, minor = 0;
    if (!next_number(line, major) || !next_number(line, minor)) continue;
    Disk disk;
    disk.name = next_word(line);
    if (disk.name.empty()) continue;
    disk.type = disk_type(disk.name, last_whole);
    if (disk.type != DiskType::part) last_whole = disk.name;
    DiskCounters &c = disk.counters;
    take_counts(line, {&c.reads, &c.reads_merged, &c.sectors_read, &c.read_ms, &c.writes, &c.writes_merged, &c.sectors_written,
                       &c.write_ms, &c.in_progress, &c.busy_ms, &c.queue_ms, &c.discards, &c.discards_merged, &c.sectors_discarded,
                       &c.discard_ms, &c.flushes});
    out.push_back(disk);
  }
  mark_paths(out);
}

void parse_net_dev(std::string_view text, std::vector<Interface> &out) {
  out.clear();
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    // Old kernels have no blank after the colon, and an alias has one in its name ("eth0:1:").
    const size_t colon = line.rfind(':');
    if (colon == std::string_view::npos) continue;
    std::string_view name = line.substr(0, colon);
    Interface interface;
    interface.name = next_word(name);
    if (interface.name.empty()) continue;
    InterfaceCounters &c = interface.counters;
    Count unused;
    take_counts(line.substr(colon + 1), {&c.bytes_in, &c.packets_in, &c.errors_in, &c.drops_in, &unused, &unused, &unused, &unused,
                                         &c.bytes_out, &c.packets_out, &c.errors_out, &c.drops_out});
    out.push_back(interface);
  }
}

Pressure parse_pressure(std::string_view text) {
  Pressure pressure;
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    const std::string_view kind = next_word(line);
    const bool some = kind == "some";
    if (!some && kind != "full") continue;
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      if (const std::string_view average = after(word, "avg10="); !average.empty())
        (some ? pressure.some_avg10 : pressure.full_avg10) = decimal(average);
      if (const std::string_view total = after(word, "total="); !total.empty())
        take_counts(total, {some ? &pressure.totals.some : &pressure.totals.full});
    }
  }
  return pressure;
}

Load parse_loadavg(std::string_view text) {
  Load load;
  load.one = decimal(next_word(text));
  load.five = decimal(next_word(text));
  load.fifteen = decimal(next_word(text));
  const std::string_view tasks = next_word(text);  // "running/total"
  if (const size_t slash = tasks.find('/'); slash != std::string_view::npos) take_counts(tasks.substr(slash + 1), {&load.tasks});
  return load;
}

std::optional<double> parse_uptime(std::string_view text) {
  return decimal(next_word(text));
}

void parse_mountinfo(std::string_view text, std::vector<Mount> &out) {
  out.clear();
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    Mount mount;
    next_word(line);  // mount id
    next_word(line);  // parent id
    mount.device = next_word(line);
    mount.root = next_word(line);
    mount.mount_point = next_word(line);
    mount.options = next_word(line);
    // Optional fields, of any number, end with "-".
    std::string_view word = next_word(line);
    while (!word.empty() && word != "-") word = next_word(line);
    mount.type = next_word(line);
    mount.source = next_word(line);
    mount.super_options = next_word(line);
    if (!mount.type.empty()) out.push_back(mount);
  }
}

std::string unescape_mount(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](size_t offset) {
      const char c = i + offset < text.size() ? text[i + offset] : ' ';
      return c >= '0' && c <= '7' ? c - '0' : -1;
    };
    const int a = octal(1), b = octal(2), c = octal(3);
    if (text[i] == '\\' && a >= 0 && a <= 3 && b >= 0 && c >= 0) {
      plain += static_cast<char>(a * 64 + b * 8 + c);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace atalaya::procfs
