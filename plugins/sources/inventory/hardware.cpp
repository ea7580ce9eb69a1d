// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/inventory/hardware.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/base/text/text.h"
#include "plugins/shared/host/procfs/cpus.h"
#include "plugins/shared/host/procfs/files.h"
#include "plugins/sources/inventory/properties.h"

namespace atalaya::inventory {
namespace {

// Settings (sysctls) that change the speed of a host, below /proc/sys. Values that the kernel changes itself are excluded.
constexpr std::array kSettings = std::to_array<std::string_view>({
    "fs/file-max",
    "kernel/numa_balancing",
    "kernel/pid_max",
    "kernel/sched_autogroup_enabled",
    "kernel/threads-max",
    "net/core/netdev_max_backlog",
    "net/core/rmem_max",
    "net/core/somaxconn",
    "net/core/wmem_max",
    "net/ipv4/ip_local_port_range",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_max_syn_backlog",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_slow_start_after_idle",
    "net/ipv4/tcp_wmem",
    "vm/dirty_background_bytes",
    "vm/dirty_background_ratio",
    "vm/dirty_bytes",
    "vm/dirty_expire_centisecs",
    "vm/dirty_ratio",
    "vm/dirty_writeback_centisecs",
    "vm/max_map_count",
    "vm/min_free_kbytes",
    "vm/overcommit_memory",
    "vm/overcommit_ratio",
    "vm/swappiness",
    "vm/vfs_cache_pressure",
    "vm/zone_reclaim_mode",
});

constexpr size_t kMaxText = size_t{16} << 20;  // cpuinfo of a host with thousands of CPUs
constexpr uint64_t kSectorBytes = 512;
constexpr uint64_t kKibibyte = 1024;

using Texts = std::set<std::string>;

void add_line(const procfs::Tree &tree, std::string_view path, std::string_view name, Facts &facts) {
  facts.add(name, tree.line(path));
}

// Returns "bfq" for "mq-deadline kyber [bfq] none"; a text without brackets is returned unchanged.
std::string_view chosen(std::string_view text) {
  const size_t open = text.find('['), close = text.find(']', open == std::string_view::npos ? 0 : open);
  return open == std::string_view::npos || close == std::string_view::npos ? text : text.substr(open + 1, close - open - 1);
}

bool number_of(std::string_view text, uint64_t &number) {
  return procfs::whole_number(text, number);
}

// Adds a fact in bytes from a text such as " 1024 kB".
void add_kibibytes(std::string_view text, std::string_view name, Facts &facts) {
  uint64_t kib = 0;
  if (procfs::next_number(text, kib) && kib <= UINT64_MAX / kKibibyte) facts.add(name, std::to_string(kib * kKibibyte));
}

// The values of the lines "key : value": the distinct values of each key.
std::map<std::string_view, Texts, std::less<>> cpu_lines(std::string_view text) {
  std::map<std::string_view, Texts, std::less<>> lines;
  while (!text.empty()) {
    const std::string_view line = core::cut_at(text, '\n');
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    Texts &values = lines[core::trimmed(line.substr(0, colon))];
    if (values.size() < 16) values.emplace(core::trimmed(line.substr(colon + 1)));
  }
  return lines;
}

bool has_flag(const Texts &flags, std::string_view wanted) {
  return std::any_of(flags.begin(), flags.end(), [wanted](std::string_view text) {
    for (std::string_view word = procfs::next_word(text); !word.empty(); word = procfs::next_word(text))
      if (word == wanted) return true;
    return false;
  });
}

void read_cpuinfo(std::string_view text, Facts &facts) {
  struct Line {
    std::string_view key, fact;
  };
  constexpr std::array<Line, 6> kLines = {{{"model name", "cpu.model"},
                                           {"vendor_id", "cpu.vendor"},
                                           {"microcode", "cpu.microcode"},
                                           {"CPU implementer", "cpu.implementer"},
                                           {"CPU part", "cpu.part"},
                                           {"CPU architecture", "cpu.architecture"}}};
  const auto lines = cpu_lines(text);
  for (const Line &line : kLines)
    if (const auto found = lines.find(line.key); found != lines.end()) facts.add(line.fact, core::joined(found->second));
  if (const auto flags = lines.find("flags"); flags != lines.end())
    facts.add("machine.virtual", has_flag(flags->second, "hypervisor") ? "yes" : "no");
}

void read_caches(const procfs::Tree &tree, const std::vector<int> &cpus, Facts &facts) {
  struct Cache {
    Texts sizes, shares;
  };
  std::map<std::string, Cache> caches;
  for (const int cpu : cpus) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache";
    for (const std::string &index : tree.list(folder).names) {
      if (!index.starts_with("index")) continue;
      const std::string cache = std::string(folder).append("/").append(index), level = tree.line(cache + "/level"),
                        type = tree.line(cache + "/type");
      if (level.empty()) continue;
      Cache &found = caches["l" + level + (type == "Data" ? "d" : type == "Instruction" ? "i" : "")];
      found.sizes.insert(tree.line(cache + "/size"));
      found.shares.insert(tree.line(cache + "/shared_cpu_list"));
    }
  }
  for (const auto &[name, cache] : caches) {
    facts.add("cpu.cache." + name + ".size", core::joined(cache.sizes));
    facts.add("cpu.cache." + name + ".count", std::to_string(cache.shares.size()));
  }
}

void read_topology(const procfs::Tree &tree, const std::vector<int> &online, Facts &facts) {
  Texts maximums, governors;
  for (const int cpu : online) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq";
    uint64_t khz = 0;
    if (number_of(tree.line(folder + "/cpuinfo_max_freq"), khz)) maximums.insert(std::to_string(khz / 1000) + " MHz");
    if (std::string governor = tree.line(folder + "/scaling_governor"); !governor.empty()) governors.insert(std::move(governor));
  }
  size_t packages = 0, cores = 0;
  for (const procfs::Cpu &cpu : procfs::read_cpus(tree)) {
    packages += cpu.first_of_package ? 1 : 0;
    cores += cpu.first_of_core ? 1 : 0;
  }
  facts.add("cpu.threads", std::to_string(online.size()));
  if (packages > 0) facts.add("cpu.sockets", std::to_string(packages));
  if (cores > 0) facts.add("cpu.cores", std::to_string(cores));
  facts.add("cpu.frequency.max", core::joined(maximums));
  facts.add("cpu.governor", core::joined(governors));
}

void read_numa(const procfs::Tree &tree, Facts &facts) {
  const procfs::Tree::Listing nodes = tree.list("sys/devices/system/node");
  if (nodes.error != 0 && !nodes.missing()) return facts.mark_unreadable("numa.");
  size_t count = 0;
  for (const std::string &node : nodes.names) {
    uint64_t number = 0;
    if (!node.starts_with("node") || !number_of(std::string_view(node).substr(4), number)) continue;
    ++count;
    const std::string folder = "sys/devices/system/node/" + node, name = "numa." + node;
    add_line(tree, folder + "/cpulist", name + ".cpus", facts);
    add_line(tree, folder + "/distance", name + ".distance", facts);
    const std::string memory = tree.line(folder + "/meminfo");  // "Node 0 MemTotal: 1024 kB"
    if (const size_t at = memory.find("MemTotal:"); at != std::string::npos)
      add_kibibytes(std::string_view(memory).substr(memory.find(':', at) + 1), name + ".bytes", facts);
  }
  if (count > 0) facts.add("numa.nodes", std::to_string(count));
}

bool is_disk(const std::string &name) {
  for (const std::string_view other : {"loop", "ram", "zram"})
    if (name.starts_with(other)) return false;
  return true;
}

void read_disk(const procfs::Tree &tree, const std::string &disk, Facts &facts) {
  const std::string folder = "sys/block/" + disk, name = "disk." + disk;
  uint64_t sectors = 0;
  if (number_of(tree.line(folder + "/size"), sectors) && sectors <= UINT64_MAX / kSectorBytes)
    facts.add(name + ".bytes", std::to_string(sectors * kSectorBytes));
  add_line(tree, folder + "/device/vendor", name + ".vendor", facts);
  add_line(tree, folder + "/device/model", name + ".model", facts);
  const std::string rotational = tree.line(folder + "/queue/rotational");
  if (!rotational.empty()) facts.add(name + ".kind", rotational == "1" ? "rotating" : "solid-state");
  facts.add(name + ".scheduler", chosen(tree.line(folder + "/queue/scheduler")));
  uint64_t ahead = 0;
  if (number_of(tree.line(folder + "/queue/read_ahead_kb"), ahead)) facts.add(name + ".read-ahead", std::to_string(ahead) + " KiB");
}

void read_interface(const procfs::Tree &tree, const std::string &interface, Facts &facts) {
  const std::string folder = "sys/class/net/" + interface, name = "net." + interface;
  const std::string speed = tree.line(folder + "/speed");
  uint64_t mbit = 0;  // -1: unknown to the driver
  if (number_of(speed, mbit)) facts.add(name + ".speed", speed + " Mbit/s");
  add_line(tree, folder + "/duplex", name + ".duplex", facts);
  add_line(tree, folder + "/mtu", name + ".mtu", facts);
  facts.add(name + ".driver", tree.link_name(folder + "/device/driver"));
}

}  // namespace

void read_machine(const procfs::Tree &tree, Facts &facts) {
  const std::string folder = "sys/class/dmi/id/";
  add_line(tree, folder + "sys_vendor", "machine.vendor", facts);
  add_line(tree, folder + "product_name", "machine.product", facts);
  add_line(tree, folder + "product_version", "machine.version", facts);
  add_line(tree, folder + "bios_version", "machine.firmware", facts);
}

void read_system(const procfs::Tree &tree, Facts &facts) {
  const std::string release = tree.line("proc/sys/kernel/osrelease");
  if (release.empty()) facts.mark_unreadable("kernel.");
  facts.add("kernel.release", release);
  add_line(tree, "proc/sys/kernel/version", "kernel.version", facts);
  add_line(tree, "proc/sys/kernel/arch", "kernel.architecture", facts);
  for (const std::string_view setting : kSettings) {
    std::string name = std::string(setting.starts_with("kernel/") ? "" : "kernel.") + std::string(setting);
    std::replace(name.begin(), name.end(), '/', '.');
    add_line(tree, "proc/sys/" + std::string(setting), name, facts);
  }
  facts.add("kernel.hugepages", chosen(tree.line("sys/kernel/mm/transparent_hugepage/enabled")));
  const procfs::Tree::Text os = tree.read("etc/os-release", kMaxText);
  if (!os.ok() && !os.missing()) facts.mark_unreadable("os.");
  for (const Property &property : parse_assignments(os.text))
    if (property.key == "PRETTY_NAME") facts.add("os.name", property.value);
}

void read_processors(const procfs::Tree &tree, Facts &facts) {
  const procfs::Tree::Text info = tree.read("proc/cpuinfo", kMaxText);
  const std::string online = tree.line("sys/devices/system/cpu/online");
  if (!info.ok() || online.empty()) {
    facts.mark_unreadable("cpu.");
    facts.mark_unreadable("machine.virtual");
  }
  read_cpuinfo(info.text, facts);
  if (online.empty()) return;
  facts.add("cpu.online", online);
  const std::vector<int> cpus = procfs::parse_cpus(online);
  read_topology(tree, cpus, facts);
  read_caches(tree, cpus, facts);
  add_line(tree, "sys/devices/system/cpu/smt/control", "cpu.smt", facts);
}

void read_memory(const procfs::Tree &tree, Facts &facts) {
  struct Line {
    std::string_view key, fact;
  };
  constexpr std::array<Line, 3> kLines = {
      {{"MemTotal:", "memory.bytes"}, {"SwapTotal:", "memory.swap.bytes"}, {"Hugepagesize:", "memory.hugepage.bytes"}}};
  const procfs::Tree::Text info = tree.read("proc/meminfo", kMaxText);
  if (!info.ok()) facts.mark_unreadable("memory.");
  std::string_view text = info.text;
  while (!text.empty()) {
    std::string_view line = core::cut_at(text, '\n');
    const std::string_view key = procfs::next_word(line);
    for (const Line &known : kLines)
      if (key == known.key) add_kibibytes(line, known.fact, facts);
    if (key == "HugePages_Total:") facts.add("memory.hugepages", line);
  }
  read_numa(tree, facts);
}

void read_disks(const procfs::Tree &tree, Facts &facts) {
  const procfs::Tree::Listing disks = tree.list("sys/block");
  if (disks.error != 0) return facts.mark_unreadable("disk.");
  for (const std::string &disk : disks.names)
    if (is_disk(disk)) read_disk(tree, disk, facts);
}

void read_interfaces(const procfs::Tree &tree, Facts &facts) {
  const procfs::Tree::Listing interfaces = tree.list("sys/class/net");
  if (interfaces.error != 0) return facts.mark_unreadable("net.");
  for (const std::string &interface : interfaces.names)
    if (tree.has("sys/class/net/" + interface + "/device")) read_interface(tree, interface, facts);
}

}  // namespace atalaya::inventory
