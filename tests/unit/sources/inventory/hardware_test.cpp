// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/inventory/hardware.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::inventory {
namespace {

using proc::test::TempRoot;

struct Machine {
  Machine() { REQUIRE(tree.open()); }
  void cpu(int number, int package, int core, const std::string &siblings) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(number);
    root.write(folder + "/topology/physical_package_id", std::to_string(package) + "\n");
    root.write(folder + "/topology/core_id", std::to_string(core) + "\n");
    root.write(folder + "/cpufreq/cpuinfo_max_freq", "3800000\n");
    root.write(folder + "/cpufreq/scaling_governor", "schedutil\n");
    cache(folder + "/cache/index0", "1", "Data", "32K", siblings);
    cache(folder + "/cache/index1", "1", "Instruction", "48K", siblings);
    cache(folder + "/cache/index2", "3", "Unified", "16384K", "0-3");
  }
  void cache(const std::string &folder, const char *level, const char *type, const char *size, const std::string &shared) {
    root.write(folder + "/level", level);
    root.write(folder + "/type", type);
    root.write(folder + "/size", size);
    root.write(folder + "/shared_cpu_list", shared);
  }
  std::string operator[](std::string_view name) const {
    const auto found = facts.values().find(name);
    return found == facts.values().end() ? "(absent)" : found->second;
  }

  TempRoot root;
  procfs::Tree tree{root.path()};
  Facts facts;
};

}  // namespace

TEST_CASE("processors, their threads, cores, sockets and caches") {
  Machine machine;
  machine.root.write(
      "proc/cpuinfo",
      "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon\nmicrocode\t: 0x1\nflags\t\t: fpu hypervisor sse\n\n"
      "processor\t: 1\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon\nmicrocode\t: 0x1\nflags\t\t: fpu hypervisor sse\n");
  machine.root.write("sys/devices/system/cpu/online", "0-3\n");
  machine.root.write("sys/devices/system/cpu/smt/control", "on\n");
  machine.cpu(0, 0, 0, "0,2");
  machine.cpu(1, 0, 1, "1,3");
  machine.cpu(2, 0, 0, "0,2");
  machine.cpu(3, 0, 1, "1,3");
  read_processors(machine.tree, machine.facts);
  CHECK(machine["cpu.model"] == "Xeon");
  CHECK(machine["cpu.vendor"] == "GenuineIntel");
  CHECK(machine["cpu.microcode"] == "0x1");
  CHECK(machine["cpu.online"] == "0-3");
  CHECK(machine["cpu.threads"] == "4");
  CHECK(machine["cpu.cores"] == "2");
  CHECK(machine["cpu.sockets"] == "1");
  CHECK(machine["cpu.frequency.max"] == "3800 MHz");
  CHECK(machine["cpu.governor"] == "schedutil");
  CHECK(machine["cpu.smt"] == "on");
  CHECK(machine["cpu.cache.l1d.size"] == "32K");
  CHECK(machine["cpu.cache.l1d.count"] == "2");
  CHECK(machine["cpu.cache.l1i.size"] == "48K");
  CHECK(machine["cpu.cache.l3.size"] == "16384K");
  CHECK(machine["cpu.cache.l3.count"] == "1");
  CHECK(machine["machine.virtual"] == "yes");
  CHECK_FALSE(machine.facts.is_unreadable("cpu.model"));
}

TEST_CASE("an ARM board has other facts, and missing ones stay absent") {
  Machine machine;
  machine.root.write("proc/cpuinfo",
                     "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd03\n"
                     "processor\t: 1\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd08\n");
  machine.root.write("sys/devices/system/cpu/online", "0\n");
  read_processors(machine.tree, machine.facts);
  CHECK(machine["cpu.implementer"] == "0x41");
  CHECK(machine["cpu.part"] == "0xd03, 0xd08");
  CHECK(machine["cpu.model"] == "(absent)");
  CHECK(machine["cpu.sockets"] == "(absent)");
  CHECK(machine["machine.virtual"] == "(absent)");
}

TEST_CASE("memory and its nodes") {
  Machine machine;
  machine.root.write(
      "proc/meminfo",
      "MemTotal:       1000 kB\nMemFree: 5 kB\nSwapTotal:   10 kB\nHugePages_Total:       2\nHugepagesize:  2048 kB\n");
  machine.root.write("sys/devices/system/node/node0/cpulist", "0-1\n");
  machine.root.write("sys/devices/system/node/node0/distance", "10 21\n");
  machine.root.write("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:   600 kB\nNode 0 MemFree: 1 kB\n");
  machine.root.write("sys/devices/system/node/node1/cpulist", "2-3\n");
  machine.root.write("sys/devices/system/node/possible", "0-1\n");
  read_memory(machine.tree, machine.facts);
  CHECK(machine["memory.bytes"] == "1024000");
  CHECK(machine["memory.swap.bytes"] == "10240");
  CHECK(machine["memory.hugepages"] == "2");
  CHECK(machine["memory.hugepage.bytes"] == "2097152");
  CHECK(machine["numa.nodes"] == "2");
  CHECK(machine["numa.node0.cpus"] == "0-1");
  CHECK(machine["numa.node0.distance"] == "10 21");
  CHECK(machine["numa.node0.bytes"] == "614400");
  CHECK(machine["numa.node1.cpus"] == "2-3");
  CHECK(machine["numa.node1.bytes"] == "(absent)");
}

TEST_CASE("disks") {
  Machine machine;
  machine.root.write("sys/block/sda/size", "2000\n");
  machine.root.write("sys/block/sda/device/model", "ST4000   \n");
  machine.root.write("sys/block/sda/queue/rotational", "1\n");
  machine.root.write("sys/block/sda/queue/scheduler", "none [bfq] kyber\n");
  machine.root.write("sys/block/sda/queue/read_ahead_kb", "128\n");
  machine.root.write("sys/block/nvme0n1/queue/rotational", "0\n");
  machine.root.write("sys/block/loop0/size", "8\n");
  read_disks(machine.tree, machine.facts);
  CHECK(machine["disk.sda.bytes"] == "1024000");
  CHECK(machine["disk.sda.model"] == "ST4000");
  CHECK(machine["disk.sda.kind"] == "rotating");
  CHECK(machine["disk.sda.scheduler"] == "bfq");
  CHECK(machine["disk.sda.read-ahead"] == "128 KiB");
  CHECK(machine["disk.nvme0n1.kind"] == "solid-state");
  CHECK(machine["disk.loop0.bytes"] == "(absent)");
}

TEST_CASE("interfaces with hardware behind them") {
  Machine machine;
  machine.root.write("sys/class/net/eth0/speed", "10000\n");
  machine.root.write("sys/class/net/eth0/duplex", "full\n");
  machine.root.write("sys/class/net/eth0/mtu", "9000\n");
  machine.root.write("sys/class/net/eth0/device/uevent", "");
  std::filesystem::create_symlink("../../bus/pci/drivers/ixgbe", machine.root / "sys/class/net/eth0/device/driver");
  machine.root.write("sys/class/net/eth1/speed", "-1\n");
  machine.root.write("sys/class/net/eth1/device/uevent", "");
  machine.root.write("sys/class/net/veth1/mtu", "1500\n");
  read_interfaces(machine.tree, machine.facts);
  CHECK(machine["net.eth0.speed"] == "10000 Mbit/s");
  CHECK(machine["net.eth0.duplex"] == "full");
  CHECK(machine["net.eth0.mtu"] == "9000");
  CHECK(machine["net.eth0.driver"] == "ixgbe");
  CHECK(machine["net.eth1.speed"] == "(absent)");
  CHECK(machine["net.veth1.mtu"] == "(absent)");
}

TEST_CASE("firmware, kernel and distribution") {
  Machine machine;
  machine.root.write("sys/class/dmi/id/sys_vendor", "Maker\n");
  machine.root.write("sys/class/dmi/id/product_name", "Box 1\n");
  machine.root.write("proc/sys/kernel/osrelease", "6.1.0\n");
  machine.root.write("proc/sys/vm/swappiness", "60\n");
  machine.root.write("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
  machine.root.write("proc/sys/kernel/numa_balancing", "1\n");
  machine.root.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  machine.root.write("etc/os-release", "PRETTY_NAME=\"Debian 12\"\nID=debian\n");
  read_machine(machine.tree, machine.facts);
  read_system(machine.tree, machine.facts);
  CHECK(machine["machine.vendor"] == "Maker");
  CHECK(machine["machine.product"] == "Box 1");
  CHECK(machine["kernel.release"] == "6.1.0");
  CHECK(machine["kernel.vm.swappiness"] == "60");
  CHECK(machine["kernel.net.ipv4.tcp_rmem"] == "4096 131072 6291456");
  CHECK(machine["kernel.numa_balancing"] == "1");
  CHECK(machine["kernel.hugepages"] == "madvise");
  CHECK(machine["os.name"] == "Debian 12");
}

TEST_CASE("an empty root has no facts, and ends none") {
  Machine machine;
  read_machine(machine.tree, machine.facts);
  read_system(machine.tree, machine.facts);
  read_processors(machine.tree, machine.facts);
  read_memory(machine.tree, machine.facts);
  read_disks(machine.tree, machine.facts);
  read_interfaces(machine.tree, machine.facts);
  CHECK(machine.facts.values().empty());
  for (const char *name : {"cpu.model", "memory.bytes", "disk.sda.bytes", "net.eth0.mtu", "kernel.release"})
    CHECK(machine.facts.is_unreadable(name));
}

}  // namespace atalaya::inventory
