// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/power/msr_states.h"

#include "plugins/sources/power/collector.h"
#include "tests/unit/host/power/machines.h"

namespace atalaya::power {
namespace {

using namespace test;

// A machine with recorded registers.
struct Machine {
  explicit Machine(void (*make)(MachineTree &)) {
    make(root);
    Options options;
    options.root = root.path();
    options.gpus = options.ipmi = options.sensors = false;
    collector.emplace(fake.host(), options, std::make_unique<FakeMsr>(registers));
  }
  std::vector<Seen> next(int64_t seconds) {
    fake.now_ns += seconds * kSecond;
    return collect(fake, *collector, batch);
  }
  Seen state(const std::vector<Seen> &samples, const std::string &entity, const std::string &name) {
    for (const Seen &seen : samples)
      if (const auto found = seen.tags.find("state");
          found != seen.tags.end() && found->second == name && seen.tags.contains(entity))
        return seen;
    return {};
  }
  void set(int cpu, std::initializer_list<std::pair<uint32_t, uint64_t>> values) {
    for (const auto &[address, value] : values) registers[{cpu, address}] = value;
  }

  FakeHost fake;
  MachineTree root;
  core::Batch batch;
  FakeMsr::Registers registers;
  std::optional<Collector> collector;
};

TEST_CASE("registers of a laptop: turbostat's columns") {
  Machine laptop(make_laptop);
  laptop.set(0, {{0x10, 1'000'000'000},
                 {0xe7, 0},
                 {0xe8, 0},
                 {0x34, 7},
                 {0x3fd, 0},
                 {0x3fe, 0},
                 {0x60d, 0},
                 {0x658, 0},
                 {0x659, 0},
                 {0x606, 0xa0e03},
                 {0x613, 0xfffffc00},
                 {0x1a2, 100 << 16},
                 {0x19c, uint64_t{1} << 31 | 40 << 16},
                 {0x1b1, 35 << 16}});
  laptop.collector->start();
  const std::vector<Seen> first = laptop.next(1);
  CHECK(with_tag(first, "core", "0")["sys.cpu.mhz"] == 800);  // CPU 0 of cpufreq, a gauge
  CHECK_FALSE(with_field(first, "sys.cpu.busy")["sys.cpu.busy"]);

  // 2 s at 2 GHz, a quarter of it busy at 3 GHz, half of it in C6, an eighth in C7.
  laptop.set(0, {{0x10, 5'000'000'000},
                 {0xe7, 1'000'000'000},
                 {0xe8, 1'500'000'000},
                 {0x34, 9},
                 {0x3fd, 2'000'000'000},
                 {0x3fe, 500'000'000},
                 {0x60d, 400'000'000},
                 {0x658, 6'000'000'000},
                 {0x659, 3'000'000'000},
                 {0x613, 0xfffffe00}});
  const std::vector<Seen> samples = laptop.next(2);
  const Seen core = with_field(samples, "sys.cpu.busy");
  CHECK(core.tags.at("core") == "0");
  CHECK(core["sys.cpu.mhz.average"] == 750);
  CHECK(core["sys.cpu.busy"] == 25);
  CHECK(core["sys.cpu.mhz.busy"] == 3000);
  CHECK(core["sys.cpu.mhz.tsc"] == 2000);
  CHECK(core["sys.cpu.smi"] == 2);
  CHECK(laptop.state(samples, "core", "c1")["sys.cpu.cstate.hardware"] == 12.5);
  CHECK(laptop.state(samples, "core", "c6")["sys.cpu.cstate.hardware"] == 50);
  CHECK(laptop.state(samples, "core", "c7")["sys.cpu.cstate.hardware"] == 12.5);
  CHECK(laptop.state(samples, "core", "c3").fields.empty());
  CHECK(laptop.state(samples, "package", "pc2")["sys.cpu.package.cstate"] == 10);
  const Seen package = with_field(samples, "sys.cpu.package.c0.any");
  CHECK(package["sys.cpu.package.c0.total"] == 150);
  CHECK(package["sys.cpu.package.c0.any"] == 75);
  CHECK(package["sys.cpu.throttled"] == 25);  // 512 / 1024 s of 2 s
  std::optional<double> core_temp, package_temp;
  for (const Seen &seen : samples)
    if (seen["sys.cpu.temp"]) (seen.tags.contains("core") ? core_temp : package_temp) = seen["sys.cpu.temp"];
  CHECK(core_temp == 60);
  CHECK(package_temp == 65);
}

TEST_CASE("registers of an AMD machine: energy of package and cores, busy frequency") {
  Machine amd(make_amd);
  for (int cpu = 0; cpu < 4; ++cpu)
    amd.set(cpu, {{0x10, 0}, {0xe7, 0}, {0xe8, 0}, {0xc0010299, 0xa1003}, {0xc001029a, 0xffffffff}, {0xc001029b, 1}});
  amd.collector->start();
  amd.next(1);
  for (int cpu = 0; cpu < 4; ++cpu)
    amd.set(
        cpu,
        {{0x10, 3'600'000'000}, {0xe7, 1'800'000'000}, {0xe8, 2'000'000'000}, {0xc001029a, 65535}, {0xc001029b, 65536 * 50 + 1}});
  const std::vector<Seen> samples = amd.next(1);
  CHECK(with_tag(samples, "package", "0")["sys.cpu.energy"] == 50);
  CHECK(with_tag(samples, "package", "0")["sys.cpu.power"] == 50);
  CHECK(with_field(samples, "sys.core.energy")["sys.core.energy"] == 1);  // over its wrap
  CHECK(with_field(samples, "sys.cpu.mhz.busy")["sys.cpu.mhz.busy"] == 4000);
  CHECK(with_field(samples, "sys.power")["sys.power"] == 50);
  CHECK(with_field(samples, "sys.power").tags.at("meter") == "rapl");
  size_t cores = 0;
  for (const Seen &seen : samples) cores += seen["sys.core.energy"] ? 1 : 0;
  CHECK(cores == 2);
}

TEST_CASE("registers that went back leave a gap") {
  Machine amd(make_amd);
  amd.set(0, {{0x10, 1000}, {0xe7, 1000}, {0xe8, 1000}});
  amd.collector->start();
  amd.next(1);
  amd.set(0, {{0x10, 10}, {0xe7, 10}, {0xe8, 10}});
  CHECK(with_field(amd.next(1), "sys.cpu.busy").fields.empty());
  amd.set(0, {{0x10, 30}, {0xe7, 20}, {0xe8, 20}});
  CHECK(with_field(amd.next(1), "sys.cpu.busy")["sys.cpu.busy"] == 50);
}

TEST_CASE("when the CPU that a package was read on is switched off, another one of it is read") {
  Machine server([](MachineTree &tree) {
    make_intel_server(tree);
    tree.remove("sys/class/powercap");
  });
  for (int cpu = 0; cpu < 8; ++cpu) server.set(cpu, {{0x606, 0xa0e03}, {0x611, 1000}, {0x10, 1'000'000'000}});
  const auto tsc = [](const std::vector<Seen> &samples, const char *core) {
    return with_tags(samples, {{"core", core}}, "sys.cpu.mhz.tsc")["sys.cpu.mhz.tsc"];
  };
  server.collector->start();
  server.next(1);
  server.root.switch_off(2);
  std::erase_if(server.registers, [](const auto &one) { return one.first.first == 2; });
  server.set(0, {{0x611, 1000 + 5 * 16384}});
  server.set(3, {{0x611, 1000 + 10 * 16384}});
  server.set(6, {{0x10, 11'000'000'000}});
  const std::vector<Seen> samples = server.next(5);
  CHECK(with_tags(samples, {{"package", "1"}}, "sys.cpu.energy")["sys.cpu.energy"] == 10);
  CHECK(with_tags(samples, {{"package", "0"}}, "sys.cpu.energy")["sys.cpu.energy"] == 5);
  CHECK(tsc(samples, "6") == 2000);  // continues
  CHECK_FALSE(tsc(samples, "2"));

  server.root.cpu(2, 1, 0);
  server.set(2, {{0x606, 0xa0e03}, {0x611, 1000 + 20 * 16384}, {0x10, 0}});
  CHECK_FALSE(tsc(server.next(5), "2"));
  server.set(2, {{0x10, 5'000'000'000}});
  CHECK(tsc(server.next(5), "2") == 1000);
}

}  // namespace
}  // namespace atalaya::power
