// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/power/open_meter.h"

#include "plugins/shared/host/power/msr_rapl.h"
#include "plugins/shared/host/power/powercap.h"
#include "tests/unit/host/power/machines.h"

namespace atalaya::power {
namespace {

using namespace test;
using doctest::Approx;

struct Zones {
  explicit Zones(const MachineTree &root) : tree(root.path()) {
    REQUIRE(tree.open());
    opened = open_powercap(tree);
  }
  // "package-0 dram" -> the zone.
  const Zone &operator[](const std::string &name) const {
    for (const Zone &zone : opened.counters->zones())
      if (zone.name == name) return zone;
    FAIL("no zone " << name);
    return opened.counters->zones().front();
  }
  procfs::Tree tree;
  OpenedCounters opened;
};

TEST_CASE("powercap of a server") {
  MachineTree root;
  make_intel_server(root);
  const Zones zones(root);
  REQUIRE(zones.opened.counters);
  CHECK(zones.opened.counters->zones().size() == 4);
  CHECK(zones["package-1"].domain == Domain::package);
  CHECK(zones["package-1"].package == 1);
  CHECK(zones["package-1"].range == static_cast<uint64_t>(kServerRange));
  CHECK(zones["package-1"].max_watts == kMaxWatts);  // not of its limit, which may be raised
  CHECK(zones["package-1 dram"].domain == Domain::memory);
  CHECK(zones["package-1 dram"].package == 1);
  CHECK(zones["package-1 dram"].max_watts == kMaxWatts);
}

TEST_CASE("powercap of a laptop: energy that two control types show counts once") {
  MachineTree root;
  make_laptop(root);
  const Zones zones(root);
  REQUIRE(zones.opened.counters);
  CHECK(zones.opened.counters->zones().size() == 4);
  CHECK(zones["package-0 core"].domain == Domain::cores);
  CHECK(zones["package-0 uncore"].domain == Domain::graphics);
  CHECK(zones["psys"].domain == Domain::platform);
  CHECK(zones["psys"].max_watts == kMaxPlatformWatts);
}

TEST_CASE("names of zones") {
  Zone zone;
  CHECK(place_zone("package-3-die-1", "", zone));
  CHECK(zone.domain == Domain::package);
  CHECK(zone.package == 3);
  CHECK(place_zone("dram", "package-3-die-1", zone));
  CHECK(zone.domain == Domain::memory);
  CHECK(zone.package == 3);
  for (const char *name : {"", "core", "package-", "package-x", "package-99999999999", "dram"})
    CHECK_FALSE(place_zone(name, "", zone));
  CHECK_FALSE(place_zone("other", "package-0", zone));
}

TEST_CASE("files that are not as they should be make no zones") {
  MachineTree root;
  make_vm(root);
  root.zone("intel-rapl:0", "package-0", 0);
  root.zone("intel-rapl:1", "package-1", 1000);
  root.write("sys/class/powercap/intel-rapl:1/max_energy_range_uj", "many\n");
  root.zone("intel-rapl:2", "package-2", 1000);
  root.remove("sys/class/powercap/intel-rapl:2/name");
  CHECK_FALSE(Zones(root).opened.counters);
}

TEST_CASE("the reason for missing powercap is reported") {
  MachineTree vm;
  make_vm(vm);
  CHECK(Zones(vm).opened.why == vm.path() + "/sys/class/powercap/ has no RAPL zones");

  // As a file that only root may read: here one without any reader.
  MachineTree closed;
  closed.zone("intel-rapl:0", "package-0", 1000);
  closed.remove("sys/class/powercap/intel-rapl:0/energy_uj");
  closed.write("sys/class/powercap/intel-rapl:0/energy_uj/x", "");
  CHECK(Zones(closed).opened.why == closed.path() +
                                        "/sys/class/powercap/intel-rapl:0/energy_uj: Is a directory; only root may read it: "
                                        "grant CAP_DAC_READ_SEARCH");
}

TEST_CASE("/proc/cpuinfo") {
  const CpuModel model =
      parse_cpuinfo("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: 7\n");
  CHECK(model.vendor == Vendor::intel);
  CHECK(model.family == 6);
  CHECK(model.model == 85);
  CHECK(parse_cpuinfo("vendor_id : HygonGenuine\n").vendor == Vendor::amd);
  CHECK(parse_cpuinfo("CPU implementer\t: 0x41\n").vendor == Vendor::other);
  CHECK(parse_cpuinfo("model: -1\ncpu family: 99999999999999999999\nvendor_id").model == 0);
}

TEST_CASE("units of the registers") {
  const CpuModel xeon{Vendor::intel, 6, 85}, atom{Vendor::intel, 6, 0x37};
  const RaplUnits units = rapl_units(0xa0e03, xeon);
  CHECK(units.joules == 1.0 / 16384);
  CHECK(units.seconds == 1.0 / 1024);
  CHECK(rapl_units(0x505, atom).joules == Approx(32e-6));
}

std::vector<procfs::Cpu> cpus_of(MachineTree &root) {
  procfs::Tree tree(root.path());
  REQUIRE(tree.open());
  return procfs::read_cpus(tree);
}

TEST_CASE("topology: siblings, packages, CPUs that are off") {
  MachineTree root;
  make_intel_server(root);
  root.switch_off(7);
  root.write("sys/devices/system/cpu/cpufreq/x", "");
  const std::vector<procfs::Cpu> cpus = cpus_of(root);
  REQUIRE(cpus.size() == 7);
  CHECK(cpus[2].package == 1);
  CHECK(cpus[2].first_of_package);
  CHECK(cpus[3].first_of_core);
  CHECK_FALSE(cpus[3].first_of_package);
  CHECK_FALSE(cpus[4].first_of_core);  // the sibling of CPU 0
}

TEST_CASE("Intel's registers: 32 bits that wrap, a server's memory in its own unit, the platform once") {
  MachineTree root;
  make_intel_server(root);
  FakeMsr::Registers registers;
  for (const int cpu : {0, 2}) {
    registers[{cpu, 0x606}] = 0xa0e03;
    registers[{cpu, 0x611}] = 0xffffffff00000000 + 0xffffffff - 16383;  // above 32 bits: not of the counter
    registers[{cpu, 0x619}] = 65536;
    registers[{cpu, 0x639}] = 0;  // a server leaves it out
    registers[{cpu, 0x64d}] = 5;
  }
  FakeMsr msr(registers);
  const OpenedCounters opened = open_msr_rapl(msr, cpus_of(root), {Vendor::intel, 6, 85}, Detail::cores);
  REQUIRE(opened.counters);
  const std::vector<Zone> &zones = opened.counters->zones();
  REQUIRE(zones.size() == 5);  // two packages, two memories, one platform
  CHECK(zones[0].domain == Domain::package);
  CHECK(zones[1].domain == Domain::memory);
  CHECK(zones[1].joules == 1.0 / 65536);
  CHECK(zones[2].domain == Domain::platform);
  CHECK(zones[3].package == 1);
  const uint64_t before = opened.counters->read(0).value_or(0);
  CHECK(before == 0xffffffff - 16383);
  registers[{0, 0x611}] = 16384;
  const auto counts = counts_between(zones[0], before, opened.counters->read(0).value_or(0), 1);
  REQUIRE(counts);
  CHECK(static_cast<double>(*counts) * zones[0].joules == Approx(2));
}

TEST_CASE("Intel's registers of packages with several dies") {
  MachineTree root;
  make_dies(root);
  FakeMsr::Registers registers;
  for (int cpu = 0; cpu < 4; ++cpu) {
    registers[{cpu, 0x606}] = 0xa0e03;
    registers[{cpu, 0x611}] = 16384;
    registers[{cpu, 0x64d}] = 5;
  }
  FakeMsr msr(registers);
  const OpenedCounters opened = open_msr_rapl(msr, cpus_of(root), {Vendor::intel, 6, 85}, Detail::cores);
  REQUIRE(opened.counters);
  std::vector<std::pair<std::string, int32_t>> zones;
  for (const Zone &zone : opened.counters->zones()) zones.emplace_back(zone.name, zone.package);
  CHECK(zones == std::vector<std::pair<std::string, int32_t>>{
                     {"package-0-die-0", 0}, {"psys", 0}, {"package-0-die-1", 0}, {"package-3-die-0", 3}, {"package-3-die-1", 3}});
}

TEST_CASE("AMD's registers: the package and each core") {
  MachineTree root;
  make_amd(root);
  const FakeMsr::Registers registers = amd_registers();
  FakeMsr msr(registers);
  const OpenedCounters opened = open_msr_rapl(msr, cpus_of(root), {Vendor::amd, 23, 113}, Detail::cores);
  REQUIRE(opened.counters);
  const std::vector<Zone> &zones = opened.counters->zones();
  REQUIRE(zones.size() == 3);
  CHECK(zones[0].domain == Domain::package);
  CHECK(zones[0].joules == 1.0 / 65536);
  CHECK(zones[1].domain == Domain::core);
  CHECK(zones[2].core == 1);
}

TEST_CASE("an AMD machine with powercap and registers: cores are read in addition to the packages, on request") {
  MachineTree root;
  make_amd_rapl(root);
  procfs::Tree tree(root.path());
  REQUIRE(tree.open());
  FakeMsr::Registers registers = amd_registers();
  FakeMsr msr(registers);
  const std::vector<procfs::Cpu> cpus = procfs::read_cpus(tree);
  const auto names = [&](const char *rapl, Detail detail) {
    std::vector<std::string> found;
    const OpenedMeter opened = open_meter(rapl, tree, msr, cpus, detail);
    REQUIRE(opened.meter);
    for (const Zone &zone : opened.meter->zones()) found.push_back(zone.name);
    return found;
  };
  using Names = std::vector<std::string>;
  const Names all = {"package-0", "package-0 core of CPU 0", "package-0 core of CPU 1"}, packages = {"package-0"};
  CHECK(names("auto", Detail::cores) == all);
  CHECK(open_meter("auto", tree, msr, cpus, Detail::cores).how == "powercap, cores by msr");
  CHECK(names("auto", Detail::packages) == packages);
  CHECK(names("powercap", Detail::cores) == packages);
  CHECK(names("msr", Detail::cores) == all);
  CHECK(names("msr", Detail::packages) == packages);
  registers.clear();
  CHECK(names("auto", Detail::cores) == packages);
}

TEST_CASE("the meter is the first that works, or the reason why none does") {
  MachineTree root;
  make_vm(root);
  procfs::Tree tree(root.path());
  REQUIRE(tree.open());
  FakeMsr::Registers registers;
  FakeMsr msr(registers);
  const std::vector<procfs::Cpu> cpus = procfs::read_cpus(tree);
  const auto open = [&](const char *rapl) { return open_meter(rapl, tree, msr, cpus, Detail::cores); };
  const OpenedMeter none = open("auto");
  CHECK_FALSE(none.meter);
  CHECK(none.how == root.path() +
                        "/sys/class/powercap/ has no RAPL zones; cannot read RAPL registers from /dev/cpu/*/msr: load the "
                        "module msr and grant CAP_SYS_RAWIO; virtual machines have none");
  CHECK(open("off").how == "rapl = \"off\"");
  registers[{0, 0xc0010299}] = 0xa1003;
  registers[{0, 0xc001029b}] = 1;
  CHECK(open("auto").how == "msr");
  CHECK_FALSE(open("powercap").meter);
  root.zone("intel-rapl:0", "package-0", kAmdRange);
  CHECK(open("auto").how == "powercap");
  CHECK(open("msr").how == "msr");
}

}  // namespace
}  // namespace atalaya::power
