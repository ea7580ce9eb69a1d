// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/power/collector.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "tests/unit/host/power/machines.h"

namespace atalaya::power {
namespace {

using namespace test;
using doctest::Approx;

struct Machine {
  explicit Machine(void (*make)(MachineTree &), Options options = {}, std::unique_ptr<Msr> msr = nullptr,
                   std::unique_ptr<Ipmi> ipmi = nullptr) {
    make(root);
    options.root = root.path();
    options.nvml = "/no/such/library";
    collector.emplace(fake.host(), options, std::move(msr), std::move(ipmi));
    collector->start();
  }
  std::vector<Seen> collect(uint32_t flags = 0) {
    std::vector<Seen> samples = test::collect(fake, *collector, batch, flags);
    for (const Seen &seen : samples) check_declared(seen);
    return samples;
  }
  std::vector<Seen> next(int64_t seconds, uint32_t flags = 0) {
    fake.now_ns += seconds * kSecond;
    return collect(flags);
  }
  // Each metric has a tag of those that it declares, or none where it declares none.
  static void check_declared(const Seen &seen) {
    for (const auto &[name, value] : seen.fields) {
      const std::string field = name;
      CHECK_MESSAGE(std::isfinite(value), field);
      const auto metric =
          std::find_if(kPowerMetrics.begin(), kPowerMetrics.end(), [&](const Metric &m) { return view(m.name) == field; });
      REQUIRE_MESSAGE(metric != kPowerMetrics.end(), field);
      for (const auto &tag : seen.tags) {
        const MetricTag *const end = metric->tags + metric->tag_count;
        const std::string key = tag.first;
        CHECK_MESSAGE(std::any_of(metric->tags, end, [&](const MetricTag &t) { return view(t.key) == key; }), field, " has tag ",
                      key);
      }
    }
  }
  bool logged(const std::string &words) const {
    return std::any_of(fake.log.begin(), fake.log.end(),
                       [&](const std::string &line) { return line.find(words) != std::string::npos; });
  }

  FakeHost fake;
  MachineTree root;
  core::Batch batch;
  std::optional<Collector> collector;
};

TEST_CASE("a server: energy by package and memory, temperatures by core, the host's meter before the packages") {
  Machine server(make_intel_server);
  const std::vector<Seen> first = server.collect();
  CHECK_FALSE(with_field(first, "sys.cpu.energy")["sys.cpu.energy"]);
  CHECK(with_tags(first, {{"package", "1"}}, "sys.cpu.temp")["sys.cpu.temp"] == 51);
  CHECK(with_tags(first, {{"core", "0"}}, "sys.cpu.temp")["sys.cpu.temp"] == 48);
  CHECK(with_tags(first, {{"core", "3"}}, "sys.cpu.temp")["sys.cpu.temp"] == 48.5);  // core 1 of package 1
  CHECK(with_tags(first, {{"core", "5"}}, "sys.cpu.mhz")["sys.cpu.mhz"] == 2600);
  CHECK(with_tags(first, {{"chip", "coretemp.1"}, {"sensor", "Core 0"}}, "sys.sensor.temp")["sys.sensor.temp"] == 49);
  CHECK(with_tags(first, {{"chip", "power_meter-ACPI000D:00"}, {"sensor", "power1"}}, "sys.sensor.power")["sys.sensor.power"] ==
        312);
  CHECK(with_tags(first, {{"meter", "meter"}}, "sys.power")["sys.power"] == 312);

  server.root.energy("intel-rapl:0", 500'000'000);
  server.root.energy("intel-rapl:1", 250'000'000);
  server.root.energy("intel-rapl:1:0", 25'000'000);
  server.root.cstate(2, 1, "C6", 2'500'000, 100);
  const std::vector<Seen> samples = server.next(5);
  CHECK(with_tags(samples, {{"package", "0"}}, "sys.cpu.energy")["sys.cpu.energy"] == 500);
  CHECK(with_tags(samples, {{"package", "0"}}, "sys.cpu.power")["sys.cpu.power"] == 100);
  CHECK(with_tags(samples, {{"package", "1"}}, "sys.mem.energy")["sys.mem.energy"] == 25);
  CHECK(with_tags(samples, {{"package", "1"}}, "sys.mem.power")["sys.mem.power"] == 5);
  CHECK(with_tags(samples, {{"core", "2"}, {"state", "C6"}}, "sys.cpu.cstate")["sys.cpu.cstate"] == 50);
  CHECK(with_tags(samples, {{"core", "2"}, {"state", "C6"}}, "sys.cpu.cstate.entries")["sys.cpu.cstate.entries"] == 20);

  server.root.remove("sys/class/hwmon/hwmon0/power1_average");
  server.root.sensor("hwmon0", "power1_average/x", "");
  server.root.energy("intel-rapl:0", 1'000'000'000);
  const std::vector<Seen> without = server.next(5);
  CHECK(with_field(without, "sys.power").tags.at("meter") == "meter");  // the kept file still reads
}

TEST_CASE("a laptop: parts of the package, the platform, the battery") {
  Machine laptop(make_laptop);
  const std::vector<Seen> first = laptop.collect();
  CHECK(with_tags(first, {{"battery", "BAT0"}}, "sys.battery.power")["sys.battery.power"] == 18);
  CHECK(with_tags(first, {{"battery", "BAT0"}}, "sys.battery.charge")["sys.battery.charge"] == 73);
  CHECK(with_tags(first, {{"meter", "battery"}}, "sys.power")["sys.power"] == 18);  // nothing better in the first window
  CHECK(with_tags(first, {{"zone", "acpitz"}}, "sys.thermal.temp")["sys.thermal.temp"] == 38);
  CHECK(with_tags(first, {{"zone", "acpitz-2"}}, "sys.thermal.temp").fields.empty());
  for (const Seen &seen : first) CHECK_FALSE(seen.tags.contains("hidpp_battery_0"));

  laptop.root.energy("intel-rapl:0", 30'000'000);
  laptop.root.energy("intel-rapl-mmio:0", 30'000'000);
  laptop.root.energy("intel-rapl:0:0", 20'000'000);
  laptop.root.energy("intel-rapl:0:1", 2'000'000);
  laptop.root.energy("intel-rapl:1", 80'000'000);
  laptop.root.write("sys/class/drm/card0/gt/gt0/rc6_residency_ms", "3000\n");
  laptop.root.write("sys/class/power_supply/BAT0/status", "Charging\n");
  const std::vector<Seen> samples = laptop.next(4);
  const Seen package = with_tags(samples, {{"package", "0"}}, "sys.cpu.energy");
  CHECK(package["sys.cpu.energy"] == 30);
  CHECK(with_tags(samples, {{"package", "0"}}, "sys.cpu.cores.energy")["sys.cpu.cores.energy"] == 20);
  CHECK(with_tags(samples, {{"package", "0"}}, "sys.cpu.graphics.power")["sys.cpu.graphics.power"] == 0.5);
  CHECK(with_tags(samples, {}, "sys.platform.energy")["sys.platform.energy"] == 80);
  CHECK(with_tags(samples, {{"meter", "psys"}}, "sys.power")["sys.power"] == 20);
  CHECK(with_tags(samples, {{"battery", "BAT0"}}, "sys.battery.power")["sys.battery.power"] == -18);
  CHECK(with_tags(samples, {{"gpu", "card0"}}, "gpu.rc6")["gpu.rc6"] == 75);
  CHECK(with_tags(samples, {{"gpu", "card0"}}, "gpu.mhz")["gpu.mhz"] == 300);
  size_t packages = 0;
  for (const Seen &seen : samples) packages += seen["sys.cpu.energy"] ? 1 : 0;
  CHECK(packages == 1);
}

TEST_CASE("an AMD machine: Tdie is the package's temperature") {
  Machine amd(make_amd);
  const std::vector<Seen> samples = amd.collect();
  CHECK(with_tags(samples, {{"package", "0"}}, "sys.cpu.temp")["sys.cpu.temp"] == 55);
  CHECK(with_tags(samples, {{"chip", "k10temp-0000:00:18.3"}, {"sensor", "Tctl"}}, "sys.sensor.temp")["sys.sensor.temp"] == 65);
  CHECK(with_tags(samples, {{"chip", "nct6797"}, {"sensor", "fan1"}}, "sys.sensor.fan")["sys.sensor.fan"] == 1200);
  CHECK(amd.logged("no energy of packages (RAPL)"));
}

TEST_CASE("an AMD machine with powercap and registers: the package once, and each core") {
  FakeMsr::Registers registers = amd_registers();
  Machine amd(make_amd_rapl, {}, std::make_unique<FakeMsr>(registers));
  amd.collect();
  amd.root.energy("intel-rapl:0", 50'000'000);
  amd.root.energy("intel-rapl:0:0", 9'000'000);
  registers[{0, 0xc001029a}] += uint64_t{10} * 65536;
  registers[{0, 0xc001029b}] += uint64_t{50} * 65536;
  registers[{1, 0xc001029a}] += uint64_t{5} * 65536;
  const std::vector<Seen> samples = amd.next(5);
  CHECK(with_tags(samples, {{"package", "0"}}, "sys.cpu.energy")["sys.cpu.energy"] == 50);
  CHECK(std::count_if(samples.begin(), samples.end(), [](const Seen &seen) { return seen["sys.cpu.energy"].has_value(); }) == 1);
  CHECK(with_field(samples, "sys.cpu.cores.energy").fields.empty());
  CHECK(with_tags(samples, {{"core", "0"}}, "sys.core.energy")["sys.core.energy"] == 10);
  CHECK(with_tags(samples, {{"core", "0"}}, "sys.core.power")["sys.core.power"] == 2);
  CHECK(with_tags(samples, {{"core", "1"}}, "sys.core.energy")["sys.core.energy"] == 5);
  CHECK(with_tags(samples, {{"meter", "rapl"}}, "sys.power")["sys.power"] == 10);
}

// A management controller with the measurements that a test sets.
class Controller final : public Ipmi {
 public:
  explicit Controller(std::shared_ptr<const uint8_t> watts) : watts_(std::move(watts)) {}
  std::optional<std::vector<uint8_t>> request(uint8_t, uint8_t, std::span<uint8_t>) override {
    std::vector<uint8_t> answer(19, 0);
    answer[1] = 0xdc;
    answer[2] = *watts_;
    answer[18] = 0x40;
    return answer;
  }

 private:
  std::shared_ptr<const uint8_t> watts_;
};

TEST_CASE("a meter of the host that reports 0 W does not measure: the next one counts") {
  const auto watts = std::make_shared<uint8_t>(0);
  Machine server(make_intel_server, {}, nullptr, std::make_unique<Controller>(watts));
  CHECK(with_field(server.collect(), "sys.power").tags.at("meter") == "meter");
  *watts = 240;
  CHECK(with_tags(server.next(5), {{"meter", "ipmi"}}, "sys.power")["sys.power"] == 240);

  *watts = 0;
  server.root.sensor("hwmon0", "power1_average", "0");
  for (const char *package : {"intel-rapl:0", "intel-rapl:1"}) server.root.energy(package, 500'000'000);
  const std::vector<Seen> samples = server.next(5);
  CHECK(with_field(samples, "sys.sensor.power").fields.empty());
  CHECK(with_tags(samples, {{"meter", "rapl"}}, "sys.power")["sys.power"] == 200);
}

TEST_CASE("a package with an unchanged counter has no power, nor has the host by it") {
  Options options;
  options.sensors = false;
  Machine server(make_intel_server, options);
  server.collect();
  server.root.energy("intel-rapl:0", 500'000'000);
  const std::vector<Seen> samples = server.next(5);
  CHECK(with_tags(samples, {{"package", "0"}}, "sys.cpu.power")["sys.cpu.power"] == 100);
  CHECK_FALSE(with_tag(samples, "package", "1")["sys.cpu.energy"]);
  CHECK_FALSE(with_tag(samples, "package", "1")["sys.cpu.power"]);
  CHECK(with_field(samples, "sys.power").fields.empty());
}

TEST_CASE("a virtual machine: no samples, and the reasons in the log, once per start") {
  Machine vm(make_vm);
  for (int i = 0; i < 3; ++i) CHECK(vm.next(5).empty());
  for (const char *words : {"no energy of packages (RAPL)", "no sys.cpu.mhz", "no sys.cpu.cstate", "no registers",
                            "no temperatures", "no power by IPMI", "no NVIDIA GPUs"})
    CHECK_MESSAGE(vm.logged(words), words);
  CHECK(vm.logged("virtual machines have none; set \"model\" to estimate it"));
  CHECK(vm.fake.log.size() == 7);
}

TEST_CASE("a model where nothing measures, tagged so") {
  Options options;
  options.model = Model{40, 180};
  Machine vm(make_vm, options);
  CHECK(vm.collect().empty());
  vm.root.stat(500, 500);
  const std::vector<Seen> samples = vm.next(5);
  CHECK(with_tags(samples, {{"meter", "model"}, {"quality", "model"}}, "sys.power")["sys.power"] == 110);
  vm.root.stat(500, 1500);
  CHECK(with_field(vm.next(5), "sys.power")["sys.power"] == 40);
  CHECK(vm.next(5).empty());  // the clock of the CPUs stopped: unknown

  Machine server(make_intel_server, options);
  server.collect();
  server.next(5);
  for (const Seen &seen : server.next(5)) CHECK_FALSE(seen.tags.contains("quality"));
}

TEST_CASE("after a suspend there are no values for the time before") {
  Machine laptop(make_laptop);
  laptop.collect();
  laptop.root.energy("intel-rapl:0", 10'000'000);
  CHECK(with_field(laptop.next(5, ATALAYA_WINDOW_BASELINE), "sys.cpu.energy").fields.empty());
  laptop.root.energy("intel-rapl:0", 15'000'000);
  CHECK(with_field(laptop.next(5), "sys.cpu.energy")["sys.cpu.energy"] == 5);
}

TEST_CASE("a package that fails leaves the power of packages out, the other one stays") {
  Options options;
  options.sensors = false;
  Machine server(make_intel_server, options);
  server.collect();
  server.root.energy("intel-rapl:1", 250'000'000);
  server.root.write("sys/class/powercap/intel-rapl:0/energy_uj", "busy\n");
  const std::vector<Seen> samples = server.next(5);
  CHECK(with_tags(samples, {{"package", "0"}}, "sys.cpu.energy").fields.empty());
  CHECK(with_tags(samples, {{"package", "1"}}, "sys.cpu.energy")["sys.cpu.energy"] == 250);
  CHECK(with_field(samples, "sys.power").fields.empty());
}

TEST_CASE("throttling and interrupts") {
  Options options;
  options.interrupts = true;
  Machine server(make_intel_server, options);
  const std::string throttle = "sys/devices/system/cpu/cpu0/thermal_throttle/";
  server.root.write(throttle + "core_throttle_count", "3\n");
  server.root.write(throttle + "package_throttle_count", "10\n");
  server.root.write("proc/interrupts",
                    "           CPU0       CPU1\n  0:   100  200  IO-APIC timer\nNMI:  1  2  Non-maskable\nERR:  9\n");
  server.collect();
  server.root.write(throttle + "core_throttle_count", "5\n");
  server.root.write(throttle + "package_throttle_count", "14\n");
  server.root.write("proc/interrupts",
                    "           CPU0       CPU1\n  0:   150  200  IO-APIC timer\nNMI:  1  7  Non-maskable\nERR:  19\n");
  const std::vector<Seen> samples = server.next(5);
  CHECK(with_tags(samples, {{"core", "0"}}, "sys.cpu.throttles")["sys.cpu.throttles"] == 2);
  CHECK(with_tags(samples, {{"package", "0"}}, "sys.cpu.throttles")["sys.cpu.throttles"] == 4);
  CHECK(with_tags(samples, {{"core", "0"}}, "sys.cpu.interrupts")["sys.cpu.interrupts"] == 10);
  CHECK(with_tags(samples, {{"core", "1"}}, "sys.cpu.interrupts")["sys.cpu.interrupts"] == 1);
}

TEST_CASE("a day of a server in windows of a minute: the report is the usage, over every wrap") {
  Options options;
  options.cstates = false;
  Machine server(make_intel_server, options);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> watts(20, 290);
  server.collect();
  uint64_t counts = 0;
  double used = 0, reported = 0;
  for (int window = 0; window < 1440; ++window) {
    const double joules = watts(random) * 60;
    used += joules;
    counts = (counts + static_cast<uint64_t>(joules * 1e6)) % (kServerRange + 1);
    server.root.energy("intel-rapl:0", counts);
    const Seen package = with_tags(server.next(60), {{"package", "0"}}, "sys.cpu.energy");
    REQUIRE(package["sys.cpu.energy"]);
    reported += *package["sys.cpu.energy"];
    REQUIRE(*package["sys.cpu.energy"] / 60 <= 300);
  }
  CHECK(used > 10 * 262'143);
  CHECK(reported == Approx(used).epsilon(0.001));
}

TEST_CASE("limits that are raised while it runs, and a machine of kilowatts, are reported") {
  Machine laptop(make_laptop);  // its limit was 15 W at the start
  laptop.collect();
  laptop.root.energy("intel-rapl:0", 240'000'000);
  laptop.root.energy("intel-rapl:1", 16'000'000'000);
  const std::vector<Seen> samples = laptop.next(4);
  CHECK(with_tags(samples, {{"package", "0"}}, "sys.cpu.power")["sys.cpu.power"] == 60);
  CHECK(with_tags(samples, {}, "sys.platform.power")["sys.platform.power"] == 4000);
  laptop.root.energy("intel-rapl:0", 10'240'000'000);  // no package draws 2.5 kW
  CHECK(with_field(laptop.next(4), "sys.cpu.power").fields.empty());
}

TEST_CASE("packages of several dies: energy added up, the temperature of the hottest") {
  Machine server(make_dies);
  const std::vector<Seen> first = server.collect();
  CHECK(with_tags(first, {{"package", "0"}}, "sys.cpu.temp")["sys.cpu.temp"] == 51);
  CHECK(with_tags(first, {{"package", "3"}}, "sys.cpu.temp")["sys.cpu.temp"] == 53);
  CHECK(with_tags(first, {{"core", "1"}}, "sys.cpu.temp")["sys.cpu.temp"] == 49);
  CHECK(with_tags(first, {{"core", "2"}}, "sys.cpu.temp")["sys.cpu.temp"] == 50);
  CHECK(std::count_if(first.begin(), first.end(), [](const Seen &seen) { return seen["sys.cpu.temp"].has_value(); }) == 6);
  for (int die = 0; die < 4; ++die)
    server.root.energy("intel-rapl:" + std::to_string(die), static_cast<uint64_t>(die + 1) * 10'000'000);
  const std::vector<Seen> samples = server.next(5);
  CHECK(with_tags(samples, {{"package", "0"}}, "sys.cpu.energy")["sys.cpu.energy"] == 30);
  CHECK(with_tags(samples, {{"package", "3"}}, "sys.cpu.energy")["sys.cpu.energy"] == 70);
  CHECK(with_tags(samples, {{"meter", "rapl"}}, "sys.power")["sys.power"] == 20);
}

TEST_CASE("sensors of CPUs belong to no package if their package is unknown") {
  Machine server(make_dies);
  server.root.switch_off(1);  // of four chips and three dies
  const std::vector<Seen> samples = server.collect();
  CHECK(with_field(samples, "sys.cpu.temp").fields.empty());
  CHECK(with_tags(samples, {{"chip", "coretemp.1"}, {"sensor", "Package id 1"}}, "sys.sensor.temp")["sys.sensor.temp"] == 51);
  server.root.remove("sys/class/hwmon/hwmon2");  // die 1
  const std::vector<Seen> without = server.next(5);
  CHECK(with_tags(without, {{"package", "0"}}, "sys.cpu.temp")["sys.cpu.temp"] == 50);
  CHECK(with_tags(without, {{"package", "3"}}, "sys.cpu.temp")["sys.cpu.temp"] == 53);
}

// Two packages of `dies` dies as the kernel counts them, and as many chips of k10temp.
void make_two_amd(MachineTree &tree, int dies, int chips) {
  tree.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 1\n");
  for (int number = 0; number < 2 * dies; ++number) tree.cpu(number, number / dies, number % dies, number % dies);
  for (int chip = 0; chip < chips; ++chip)
    add_k10temp(tree, "hwmon" + std::to_string(chips - chip), "0000:00:1" + std::string(1, "89abcdef"[chip]) + ".3", 40 + chip);
}

TEST_CASE("AMD's sensors: one a package, before Zen 2 one a die") {
  const auto temperatures = [](void (*make)(MachineTree &)) {
    Machine amd(make);
    std::map<std::string, double> found;
    for (const Seen &seen : amd.collect())
      if (const auto celsius = seen["sys.cpu.temp"]) found.emplace(seen.tags.at("package"), *celsius);
    return found;
  };
  using Found = std::map<std::string, double>;
  CHECK(temperatures([](MachineTree &tree) { make_two_amd(tree, 4, 8); }) == Found{{"0", 43}, {"1", 47}});
  CHECK(temperatures([](MachineTree &tree) { make_two_amd(tree, 4, 2); }) == Found{{"0", 40}, {"1", 41}});
  CHECK(temperatures([](MachineTree &tree) { make_two_amd(tree, 4, 3); }).empty());
}

TEST_CASE("CPUs that come and go: the others continue, those that came begin") {
  Machine server(make_intel_server);
  server.collect();
  const auto work = [&](int64_t seconds) {
    for (const int cpu : {2, 5}) server.root.cstate(cpu, 1, "C6", seconds * 500'000, 0);
    server.root.energy("intel-rapl:0", static_cast<uint64_t>(seconds) * 100'000'000);
  };
  const auto asleep = [](const std::vector<Seen> &samples, const char *cpu) {
    return with_tags(samples, {{"core", cpu}, {"state", "C6"}}, "sys.cpu.cstate")["sys.cpu.cstate"];
  };
  work(5);
  std::vector<Seen> samples = server.next(5);
  CHECK(asleep(samples, "5") == 50);

  server.root.switch_off(5);
  work(10);
  samples = server.next(5);
  CHECK(with_tags(samples, {{"core", "5"}}, "sys.cpu.mhz").fields.empty());
  CHECK_FALSE(asleep(samples, "5"));
  CHECK(asleep(samples, "2") == 50);
  CHECK(with_tags(samples, {{"package", "0"}}, "sys.cpu.energy")["sys.cpu.energy"] == 500);

  server.root.cpu(5, 0, 1);  // its files come a little later
  work(15);
  server.root.remove("sys/devices/system/cpu/cpu5/cpuidle");
  samples = server.next(5);
  CHECK_FALSE(asleep(samples, "5"));
  server.root.frequency(5, 2'600'000);
  work(20);
  server.root.cstate(5, 1, "C6", 7, 0);
  samples = server.next(5);
  CHECK(with_tags(samples, {{"core", "5"}}, "sys.cpu.mhz")["sys.cpu.mhz"] == 2600);
  CHECK_FALSE(asleep(samples, "5"));
  CHECK(asleep(samples, "2") == 50);
  server.root.cstate(5, 1, "C6", 2'500'007, 0);
  CHECK(asleep(server.next(5), "5") == 50);
}

}  // namespace
}  // namespace atalaya::power
