// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/energy/energy.h"

#include <cstring>
#include <random>

#include "tests/unit/filters/stages/fixture.h"
#include "tests/unit/host/power/machines.h"

namespace atalaya::energy {
namespace {

using namespace power::test;
using doctest::Approx;
using testing::Bench;
using testing::Lines;

core::Value root_of(const MachineTree &root) {
  return testing::text(root.path());
}

// The value of a field in a line.
double value(const std::string &line, const std::string &field) {
  const size_t at = line.find(" " + field + "=");
  REQUIRE_MESSAGE(at != std::string::npos, field << " in " << line);
  return std::stod(line.substr(at + field.size() + 2));
}

// A window at the time of the clock.
Lines process(Bench<EnergyTranslator> &bench, const Lines &in) {
  atalaya_window window = testing::window_at();
  window.monotonic_ns = bench.surroundings.clock;
  return bench.process(in, window);
}

// A server of one package, and the next readings of its counters.
struct Server {
  explicit Server(std::optional<double> idle_watts = 20) {
    make_amd(root);
    root.zone("intel-rapl:0", "package-0", kAmdRange, 150);
    root.stat(0, 0, 4);
    bench.emplace(idle_watts ? testing::table({{"root", root_of(root)}, {"idle", testing::number(*idle_watts)}})
                             : testing::table({{"root", root_of(root)}}));
  }
  // `percent` of one of the four cores is busy.
  Lines window(double joules, double percent, const Lines &in, int64_t seconds = 5) {
    counts = (counts + static_cast<uint64_t>(std::llround(joules * 1e6))) % (kAmdRange + 1);
    const auto all = static_cast<double>(seconds) * 400;  // ticks
    const double now = percent * static_cast<double>(seconds);
    busy += now;
    idle += all - now;
    root.energy("intel-rapl:0", counts);
    root.stat(static_cast<uint64_t>(std::llround(busy)), static_cast<uint64_t>(std::llround(idle)), 4);
    bench->surroundings.clock += seconds * kSecond;
    return process(*bench, in);
  }
  MachineTree root;
  uint64_t counts = 0;
  double busy = 0, idle = 0;
  std::optional<Bench<EnergyTranslator>> bench;
};

TEST_CASE("power above idle is divided by CPU time, and idle power is separate") {
  Server server;
  CHECK(server.window(0, 0, {"pid=1 process=a | proc.cpu.user=50"}) == Lines{"pid=1 process=a | proc.cpu.user=50"});
  const Lines out =
      server.window(300, 100,
                    {"pid=1 process=a | proc.cpu.user=50 proc.cpu.kernel=25", "core=0 | sys.cpu.usage=100",
                     "process=b | proc.cpu.user=25", "pid=3 process=c | proc.cpu.user=0", "pid=4 process=d | proc.mem.resident=7"});
  CHECK(out == Lines{"pid=1 process=a | proc.cpu.user=50 proc.cpu.kernel=25 proc.cpu.energy=150", "core=0 | sys.cpu.usage=100",
                     "process=b | proc.cpu.user=25 proc.cpu.energy=50", "pid=3 process=c | proc.cpu.user=0 proc.cpu.energy=0",
                     "pid=4 process=d | proc.mem.resident=7",
                     "| sys.energy.packages=300 sys.energy.idle=100 sys.energy.processes=200 sys.energy.unattributed=0"});
  CHECK(server.bench->surroundings.created == 1);
  const atalaya_sample &reported = server.bench->batch.raw().samples[5];
  CHECK(reported.time_ns == testing::kWindowTime);
  CHECK(reported.duration_ns == testing::kSecond);
}

TEST_CASE("when the CPU that a package was read on is switched off, another one of it is read") {
  MachineTree root;
  make_intel_server(root);
  root.remove("sys/class/powercap");
  root.stat(0, 0, 8);
  // A register's address is its place.
  const auto count = [&root](int cpu, uint64_t joules) {
    std::string registers(0x611 + sizeof(uint64_t), '\0');
    const auto put = [&registers](size_t address, uint64_t value) {
      std::memcpy(registers.data() + address, &value, sizeof(value));
    };
    put(0x606, 0xa0e03);
    put(0x611, 1000 + joules * 16384);
    root.write("dev/cpu/" + std::to_string(cpu) + "/msr", registers);
  };
  for (int cpu = 0; cpu < 8; ++cpu) count(cpu, 0);
  Bench<EnergyTranslator> bench(testing::table({{"root", root_of(root)}, {"idle", testing::number(1.0)}}));
  const auto window = [&](uint64_t ticks) {
    root.stat(ticks, ticks, 8);
    bench.surroundings.clock += 5 * kSecond;
    return process(bench, {});
  };
  window(1000);
  root.switch_off(2);
  root.remove("dev/cpu/2");
  for (const int cpu : {3, 6, 7}) count(cpu, 30);
  for (const int cpu : {0, 1, 4, 5}) count(cpu, 10);
  const Lines out = window(2000);
  REQUIRE(out.size() == 1);
  CHECK(value(out[0], "sys.energy.packages") == 40);
}

TEST_CASE("a package with an unchanged counter gives no process an energy of 0") {
  Server server;
  const Lines in = {"pid=1 process=a | proc.cpu.user=100"};
  server.window(0, 0, {});
  CHECK(server.window(0, 100, in) == in);
  CHECK(value(server.window(300, 100, in)[1], "sys.energy.packages") == 300);
}

TEST_CASE("a window that is too short for the counter: the next one has its energy") {
  Server server;
  const Lines in = {"pid=1 process=a | proc.cpu.user=100"};
  server.window(0, 0, {});
  server.root.stat(5, 15, 4);
  server.bench->surroundings.clock += kSecond / 20;
  CHECK(process(*server.bench, in) == in);
  const Lines out = server.window(300, 100, in);
  CHECK(value(out[1], "sys.energy.packages") == 300);
  CHECK(value(out[1], "sys.energy.idle") == Approx(20 * 5.05));
}

TEST_CASE("CPU time that no process of the batch has keeps its energy") {
  Server server;
  server.window(0, 0, {});
  const Lines out = server.window(300, 200, {"pid=1 process=a | proc.cpu.user=50"});
  CHECK(value(out[0], "proc.cpu.energy") == Approx(50));
  CHECK(value(out[1], "sys.energy.unattributed") == Approx(150));
}

TEST_CASE("with no process at all everything above idle is unattributed") {
  Server server;
  server.window(0, 0, {});
  CHECK(server.window(300, 0, {}) ==
        Lines{"| sys.energy.packages=300 sys.energy.idle=100 sys.energy.processes=0 sys.energy.unattributed=200"});
}

TEST_CASE("idle power is never above the power") {
  Server server;
  server.window(0, 0, {});
  const Lines out = server.window(50, 1, {"pid=1 process=a | proc.cpu.user=1"});
  CHECK(value(out[1], "sys.energy.idle") == 50);
  CHECK(value(out[0], "proc.cpu.energy") == 0);
}

TEST_CASE("idle power is learned in idle windows, and a load then has the power that it adds") {
  Server server(std::nullopt);
  server.window(0, 0, {});
  // Busy from the start: until an idle window was seen, idle time has its share.
  Lines out = server.window(300, 100, {"pid=1 process=a | proc.cpu.user=100"});
  CHECK(value(out[1], "sys.energy.idle") == Approx(225));
  out = server.window(50.5, 4, {"pid=1 process=a | proc.cpu.user=4"});
  CHECK(value(out[1], "sys.energy.idle") == Approx(50.5 * 0.99));
  out = server.window(300, 100, {"pid=1 process=a | proc.cpu.user=99", "pid=2 process=b | proc.cpu.user=1"});
  CHECK(value(out[0], "proc.cpu.energy") > 0.9 * (300 - 50));
  CHECK(value(out[2], "sys.energy.idle") == Approx(50).epsilon(0.01));
}

TEST_CASE("processes of one thread are weighed by the frequency of their CPU") {
  Server server;
  server.root.frequency(0, 1'000'000);
  server.root.frequency(1, 3'000'000);
  const auto stat = [](int pid, int cpu) {
    std::string text = std::to_string(pid) + " (a) b) S";
    for (int field = 4; field < 39; ++field) text += " 0";
    return text + " " + std::to_string(cpu) + " 0 0\n";
  };
  server.root.write("proc/1/stat", stat(1, 0));
  server.root.write("proc/2/stat", stat(2, 1));
  server.root.write("proc/4/stat", stat(4, 1));
  server.window(0, 0, {});
  const Lines out = server.window(
      300, 200,
      {"pid=1 process=a | proc.cpu.user=50 proc.threads=1i", "pid=2 process=b | proc.cpu.user=50 proc.threads=1i",
       "pid=3 process=gone | proc.cpu.user=50 proc.threads=1i", "pid=4 process=d | proc.cpu.user=50 proc.threads=8i"});
  CHECK(value(out[0], "proc.cpu.energy") == Approx(25));
  CHECK(value(out[1], "proc.cpu.energy") == Approx(75));
  CHECK(value(out[2], "proc.cpu.energy") == Approx(50));
  CHECK(value(out[3], "proc.cpu.energy") == Approx(50));
}

TEST_CASE("where a process ran last") {
  std::string stat = "12 (x (y) z) R";
  for (int field = 4; field < 39; ++field) stat += " 1";
  CHECK(parse_processor(stat + " 63 0\n") == 63);
  CHECK_FALSE(parse_processor(stat));
  CHECK_FALSE(parse_processor(stat + " -1"));
  CHECK_FALSE(parse_processor(stat + " 99999999999"));
  CHECK_FALSE(parse_processor("12 (x"));
  CHECK_FALSE(parse_processor(""));
}

TEST_CASE("a day: processes, idle and unattributed are the package's energy, over every wrap and within 0.1 %") {
  Server server;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> part(0, 60);
  server.window(0, 0, {});
  double used = 0, reported = 0;
  for (int window = 0; window < 86400 / 60; ++window) {
    double percent = 0;
    Lines in;
    for (int process = 0; process < 6; ++process) {
      const double cpu = part(random);
      percent += cpu;
      in.push_back("pid=" + std::to_string(process) + " process=p | proc.cpu.user=" + std::to_string(cpu));
    }
    const double joules = (20 + percent * 0.3) * 60;
    used += joules;
    const Lines out = server.window(joules, percent + part(random) / 60, in, 60);
    REQUIRE(out.size() == in.size() + 1);
    double processes = 0;
    for (size_t i = 0; i < in.size(); ++i) processes += value(out[i], "proc.cpu.energy");
    REQUIRE(processes == Approx(value(out.back(), "sys.energy.processes")).epsilon(1e-5));
    const double all = processes + value(out.back(), "sys.energy.idle") + value(out.back(), "sys.energy.unattributed");
    REQUIRE(all == Approx(joules).epsilon(0.001));
    reported += all;
  }
  CHECK(used > 10 * 65'532);
  CHECK(reported == Approx(used).epsilon(0.001));
}

TEST_CASE("without a meter nothing is added, and the reason is reported once") {
  MachineTree vm;
  make_vm(vm);
  Bench<EnergyTranslator> bench(testing::table({{"root", root_of(vm)}}));
  for (int i = 0; i < 3; ++i)
    CHECK(process(bench, {"pid=1 process=a | proc.cpu.user=50"}) == Lines{"pid=1 process=a | proc.cpu.user=50"});
  CHECK(bench.surroundings.logged.find("test: no energy of processes: ") == 0);
  CHECK(bench.surroundings.logged.find("set \"model\" to estimate it\n") == bench.surroundings.logged.size() - 27);
}

TEST_CASE("a model where nothing measures: samples of its own, tagged so") {
  MachineTree vm;
  make_vm(vm);
  Bench<EnergyTranslator> bench(testing::table(
      {{"root", root_of(vm)}, {"model", testing::table({{"idle", testing::number(40)}, {"full", testing::number(140)}})}}));
  CHECK(process(bench, {"pid=1 process=a | proc.cpu.user=50"}) == Lines{"pid=1 process=a | proc.cpu.user=50"});
  vm.stat(100, 100);
  bench.surroundings.clock += 2 * kSecond;
  CHECK(
      process(bench, {"host=h pid=1 process=a | proc.cpu.user=75", "host=h pid=2 process=b | proc.cpu.user=25"}) ==
      Lines{
          "host=h pid=1 process=a | proc.cpu.user=75", "host=h pid=2 process=b | proc.cpu.user=25",
          "host=h pid=1 process=a quality=model | proc.cpu.energy=75", "host=h pid=2 process=b quality=model | proc.cpu.energy=25",
          "host=h quality=model | sys.energy.packages=180 sys.energy.idle=80 sys.energy.processes=100 sys.energy.unattributed=0"});
  CHECK(bench.surroundings.created == 3);
}

TEST_CASE("a model that makes no sense is refused") {
  MachineTree vm;
  const Bench<EnergyTranslator> bench(testing::table(
      {{"root", root_of(vm)}, {"model", testing::table({{"idle", testing::number(90)}, {"full", testing::number(50)}})}}));
  CHECK(bench.refused.find("\"model\": full must be above 0 W and at least idle, such as { idle = 40, full = 180 }") !=
        std::string::npos);
}

TEST_CASE("busy CPU time: /proc/stat") {
  MachineTree root;
  procfs::Tree tree(root.path());
  REQUIRE(tree.open());
  power::BusyTime busy(tree);
  CHECK_FALSE(busy.take());
  const auto write = [&](const std::string &line) { root.write("proc/stat", line + "\ncpu0 1 2 3\ncpu1 1 2 3\nintr 7\n"); };
  write("cpu  100 50 50 1000 100 0 0 40 100 0");
  CHECK_FALSE(busy.take());
  write("cpu  150 60 60 1040 90 20 10 80 150 0");  // the wait for disks went back; guests are in user
  const auto between = busy.take();
  REQUIRE(between);
  CHECK(between->share == Approx(100.0 / 130));
  CHECK(between->percent == Approx(200 * 100.0 / 170));
  CHECK_FALSE(busy.take());  // nothing has passed
  write("cpu  1 1 1 1 1 1 1 1 1 1");
  CHECK_FALSE(busy.take());
  for (const char *bad : {"", "cpu0 1 2 3 4", "cpu  1 2 3", "cpu  18446744073709551615 1 1 1"})
    CHECK_FALSE(power::parse_ticks(bad));
}

TEST_CASE("shares: nothing to divide by, and users without a known frequency") {
  CHECK(divide(10, {}, 0).unattributed == 10);
  const std::vector<User> resting = {{0, std::nullopt}, {0, 2000}};
  const Shares none = divide(10, resting, 0);
  CHECK(none.unattributed == 10);
  CHECK(none.users == std::vector<double>{0, 0});
}

}  // namespace
}  // namespace atalaya::energy
