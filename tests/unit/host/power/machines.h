// SPDX-License-Identifier: Apache-2.0
// Trees of /sys and /proc as several kinds of machine have them, laid out as the kernel's documentation describes, with numbers
// that a test sets; registers and controllers that a test records.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/host/power/energy_meter.h"
#include "plugins/shared/host/power/msr.h"
#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::power::test {

using proc::test::collect;
using proc::test::FakeHost;
using proc::test::kSecond;
using proc::test::Seen;
using proc::test::TempRoot;
using proc::test::with_field;
using proc::test::with_tag;

// The sample of exactly this entity that has the field. Empty when there is none.
inline Seen with_tags(const std::vector<Seen> &samples, const std::map<std::string, std::string, std::less<>> &tags,
                      std::string_view field) {
  for (const Seen &seen : samples)
    if (seen.tags == tags && seen[field]) return seen;
  return {};
}

// Counters that a test sets.
class FakeCounters final : public EnergyCounters {
 public:
  explicit FakeCounters(std::vector<Zone> zones) : values(zones.size(), 0), zones_(std::move(zones)) {}
  const std::vector<Zone> &zones() const override { return zones_; }
  std::optional<uint64_t> read(size_t zone) override { return values[zone]; }

  std::vector<std::optional<uint64_t>> values;

 private:
  std::vector<Zone> zones_;
};

class FakeMsr final : public Msr {
 public:
  using Registers = std::map<std::pair<int32_t, uint32_t>, uint64_t>;  // by CPU and address
  explicit FakeMsr(const Registers &registers) : registers_(registers) {}
  std::optional<uint64_t> read(int32_t cpu, uint32_t address) override {
    const auto found = registers_.find({cpu, address});
    return found == registers_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const Registers &registers_;
};

class MachineTree : public TempRoot {
 public:
  void link(const std::string &name, const std::string &target) {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    std::filesystem::create_directory_symlink(target, *this / name);
  }

  void cpu(int number, int package, int core, int die = 0) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(number) + "/topology/";
    write(folder + "physical_package_id", std::to_string(package) + "\n");
    write(folder + "die_id", std::to_string(die) + "\n");
    write(folder + "core_id", std::to_string(core) + "\n");
    online_.insert(number);
    write_online();
  }
  // It is switched off: the kernel removes its files.
  void switch_off(int number) {
    for (const char *const folder : {"topology", "cpufreq", "cpuidle"})
      remove("sys/devices/system/cpu/cpu" + std::to_string(number) + "/" + folder);
    online_.erase(number);
    write_online();
  }
  void frequency(int number, int64_t khz) {
    write("sys/devices/system/cpu/cpu" + std::to_string(number) + "/cpufreq/scaling_cur_freq", std::to_string(khz) + "\n");
  }
  void cstate(int number, int state, const std::string &name, int64_t microseconds, int64_t entries) {
    const std::string folder =
        "sys/devices/system/cpu/cpu" + std::to_string(number) + "/cpuidle/state" + std::to_string(state) + "/";
    write(folder + "name", name + "\n");
    write(folder + "time", std::to_string(microseconds) + "\n");
    write(folder + "usage", std::to_string(entries) + "\n");
  }
  // "intel-rapl:0:2"; watts: of the first constraint.
  void zone(const std::string &entry, const std::string &name, int64_t range, int64_t watts = 0) {
    const std::string folder = "sys/class/powercap/" + entry + "/";
    write(folder + "name", name + "\n");
    write(folder + "max_energy_range_uj", std::to_string(range) + "\n");
    if (watts > 0) write(folder + "constraint_0_power_limit_uw", std::to_string(watts * 1'000'000) + "\n");
    energy(entry, 0);
  }
  void energy(const std::string &entry, uint64_t microjoules) {
    write("sys/class/powercap/" + entry + "/energy_uj", std::to_string(microjoules) + "\n");
  }
  void sensor(const std::string &hwmon, const std::string &file, const std::string &text) {
    write("sys/class/hwmon/" + hwmon + "/" + file, text + "\n");
  }
  // Ticks of all CPUs.
  void stat(uint64_t busy, uint64_t idle, int cores = 2) {
    std::string text = "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + " 0 0 0 0 0 0\n";
    for (int core = 0; core < cores; ++core) text += "cpu" + std::to_string(core) + " 0 0 0 0 0 0 0 0 0 0\n";
    write("proc/stat", text + "intr 0\n");
  }

 private:
  void write_online() {
    std::string list;
    for (const int number : online_) list += (list.empty() ? "" : ",") + std::to_string(number);
    write("sys/devices/system/cpu/online", list + "\n");
  }
  std::set<int> online_;
};

constexpr int64_t kServerRange = 262143328850, kAmdRange = 65532610987;  // as these machines show them

// As the driver shows one die.
inline void add_coretemp(MachineTree &tree, const std::string &hwmon, int die, int celsius) {
  tree.sensor(hwmon, "name", "coretemp");
  tree.link("sys/class/hwmon/" + hwmon + "/device", "../../../devices/platform/coretemp." + std::to_string(die));
  tree.sensor(hwmon, "temp1_label", "Package id " + std::to_string(die));
  tree.sensor(hwmon, "temp1_input", std::to_string(celsius * 1000));
  tree.sensor(hwmon, "temp2_label", "Core 0");
  tree.sensor(hwmon, "temp2_input", std::to_string(celsius * 1000 - 2000));
}

// A server with two Xeon packages, two cores of two threads each, and memory that is measured.
inline void make_intel_server(MachineTree &tree) {
  tree.write("proc/cpuinfo",
             "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Xeon\n\nprocessor\t: 1\n");
  for (int number = 0; number < 8; ++number) {
    tree.cpu(number, number / 2 % 2, number % 2);
    tree.frequency(number, 2'100'000 + number * 100'000);
    tree.cstate(number, 0, "POLL", 0, 0);
    tree.cstate(number, 1, "C6", 0, 0);
  }
  tree.zone("intel-rapl:0", "package-0", kServerRange, 150);
  tree.zone("intel-rapl:0:0", "dram", kAmdRange);
  tree.zone("intel-rapl:1", "package-1", kServerRange, 150);
  tree.zone("intel-rapl:1:0", "dram", kAmdRange);
  tree.write("sys/class/powercap/intel-rapl/enabled", "1\n");
  for (int package = 0; package < 2; ++package) {
    const std::string hwmon = "hwmon" + std::to_string(package + 3);
    add_coretemp(tree, hwmon, package, 50 + package);
    tree.sensor(hwmon, "temp3_label", "Core 1");
    tree.sensor(hwmon, "temp3_input", std::to_string(47500 + package * 1000));
  }
  tree.sensor("hwmon0", "name", "power_meter");
  tree.link("sys/class/hwmon/hwmon0/device", "../../../devices/LNXSYSTM:00/ACPI000D:00");
  tree.sensor("hwmon0", "power1_average", "312000000");
}

// A laptop with one Core package: cores, graphics and platform are measured, the package a second time by memory-mapped registers.
inline void make_laptop(MachineTree &tree) {
  tree.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 142\n");
  for (int number = 0; number < 4; ++number) {
    tree.cpu(number, 0, number % 2);
    tree.frequency(number, 800'000);
  }
  tree.zone("intel-rapl:0", "package-0", kServerRange, 15);
  tree.zone("intel-rapl:0:0", "core", kServerRange);
  tree.zone("intel-rapl:0:1", "uncore", kServerRange);
  tree.zone("intel-rapl:1", "psys", kServerRange);
  tree.zone("intel-rapl-mmio:0", "package-0", kServerRange, 15);
  tree.write("sys/class/thermal/thermal_zone0/type", "acpitz\n");
  tree.write("sys/class/thermal/thermal_zone0/temp", "38000\n");
  tree.write("sys/class/thermal/thermal_zone1/type", "acpitz\n");
  tree.write("sys/class/thermal/thermal_zone1/temp", "-274000\n");  // not connected
  tree.write("sys/class/power_supply/AC/type", "Mains\n");
  tree.write("sys/class/power_supply/BAT0/type", "Battery\n");
  tree.write("sys/class/power_supply/BAT0/status", "Discharging\n");
  tree.write("sys/class/power_supply/BAT0/capacity", "73\n");
  tree.write("sys/class/power_supply/BAT0/current_now", "1500000\n");
  tree.write("sys/class/power_supply/BAT0/voltage_now", "12000000\n");
  tree.write("sys/class/power_supply/hidpp_battery_0/type", "Battery\n");
  tree.write("sys/class/power_supply/hidpp_battery_0/scope", "Device\n");
  tree.write("sys/class/power_supply/hidpp_battery_0/capacity", "20\n");
  tree.write("sys/class/drm/card0/gt_cur_freq_mhz", "300\n");
  tree.write("sys/class/drm/card0/gt_act_freq_mhz", "0\n");
  tree.write("sys/class/drm/card0/gt/gt0/rc6_residency_ms", "0\n");
  tree.write("sys/class/drm/card0-eDP-1/status", "connected\n");
}

// A server of two packages, 0 and 3, of two dies each, with one core in each of them.
inline void make_dies(MachineTree &tree) {
  tree.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n");
  for (int number = 0; number < 4; ++number) {
    const int package = number / 2 * 3, die = number % 2;
    tree.cpu(number, package, 0, die);
    tree.frequency(number, 2'000'000);
    tree.zone("intel-rapl:" + std::to_string(number), "package-" + std::to_string(package) + "-die-" + std::to_string(die),
              kServerRange, 150);
    add_coretemp(tree, "hwmon" + std::to_string(3 - number), number, 50 + number);  // found in any order
  }
}

inline void add_k10temp(MachineTree &tree, const std::string &hwmon, const std::string &device, int celsius) {
  tree.sensor(hwmon, "name", "k10temp");
  tree.link("sys/class/hwmon/" + hwmon + "/device", "../../../" + device);
  tree.sensor(hwmon, "temp1_label", "Tctl");
  tree.sensor(hwmon, "temp1_input", std::to_string(celsius * 1000 + 10000));
  tree.sensor(hwmon, "temp2_label", "Tdie");
  tree.sensor(hwmon, "temp2_input", std::to_string(celsius * 1000));
}

// A machine with one EPYC or Ryzen package.
inline void make_amd(MachineTree &tree) {
  tree.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 113\n");
  for (int number = 0; number < 4; ++number) {
    tree.cpu(number, 0, number % 2);
    tree.frequency(number, 3'600'000);
  }
  add_k10temp(tree, "hwmon1", "0000:00:18.3", 55);
  tree.sensor("hwmon2", "name", "nct6797");
  tree.sensor("hwmon2", "fan1_input", "1200");
}

// The same with RAPL by powercap, whose zone "core" is the register of one core,
inline void make_amd_rapl(MachineTree &tree) {
  make_amd(tree);
  tree.zone("intel-rapl:0", "package-0", kAmdRange);
  tree.zone("intel-rapl:0:0", "core", kAmdRange);
}

// and by registers.
inline FakeMsr::Registers amd_registers() {
  FakeMsr::Registers registers;
  for (int cpu = 0; cpu < 4; ++cpu) {
    registers[{cpu, 0xc0010299}] = 0xa1003;
    registers[{cpu, 0xc001029a}] = 100;
    registers[{cpu, 0xc001029b}] = 1000;
  }
  return registers;
}

// A virtual machine: CPUs, and nothing that measures.
inline void make_vm(MachineTree &tree) {
  tree.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n");
  tree.cpu(0, 0, 0);
  tree.cpu(1, 0, 1);
  tree.stat(0, 0);
}

}  // namespace atalaya::power::test
