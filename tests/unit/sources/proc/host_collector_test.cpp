// SPDX-License-Identifier: Apache-2.0
// Recorded machines in two states, and the expected window between them, computed by hand.
#include "plugins/sources/proc/host/host_collector.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::proc {
namespace {

using namespace test;
using doctest::Approx;

// A collector on a recorded machine.
struct Machine {
  explicit Machine(const std::string &first_state, HostOptions options = {}) {
    root.load(first_state);
    options.root = root.path();
    collector.emplace(fake.host(), options);
    collector->start();
  }
  std::vector<Seen> collect(uint32_t flags = 0) { return test::collect(fake, *collector, batch, flags); }
  std::vector<Seen> next(const std::string &state, int64_t after_ns) {
    root.load(state);
    fake.now_ns += after_ns;
    return collect();
  }

  FakeHost fake;
  TempRoot root;
  core::Batch batch;
  std::optional<HostCollector> collector;
};

bool is_rate(std::string_view name) {
  for (const Metric &metric : kHostMetrics)
    if (view(metric.name) == name) return metric.kind != ATALAYA_GAUGE;
  return false;
}

TEST_CASE("the first reading emits gauges and no rates") {
  Machine laptop("laptop/a");
  const std::vector<Seen> samples = laptop.collect();
  CHECK(with_field(samples, "sys.mem.free")["sys.mem.free"] == 2000.0);
  CHECK(with_field(samples, "sys.load.1m")["sys.load.1m"] == 1.5);
  CHECK(with_field(samples, "sys.tasks.running")["sys.tasks.blocked"] == 1);
  for (const Seen &seen : samples)
    for (const auto &field : seen.fields) CHECK_MESSAGE(!is_rate(field.first), field.first, " = ", field.second);
}

TEST_CASE("cores") {
  Machine laptop("laptop/a");
  laptop.collect();
  const std::vector<Seen> samples = laptop.next("laptop/b", 2 * kSecond);
  const Seen core = with_tag(samples, "core", "0");
  CHECK(core["sys.cpu.user"] == 60.0);  // (100 user, 40 of them guest, + 20 nice) ticks of 10 ms in 2 s
  CHECK(core["sys.cpu.nice"] == 10.0);
  CHECK(core["sys.cpu.kernel"] == 15.0);
  CHECK(core["sys.cpu.idle"] == 15.0);
  CHECK(core["sys.cpu.wait"] == 5.0);
  CHECK(core["sys.cpu.irq"] == 2.0);
  CHECK(core["sys.cpu.softirq"] == 2.0);
  CHECK(core["sys.cpu.steal"] == 1.0);
  CHECK(core["sys.cpu.guest"] == 22.0);
  CHECK(core["sys.cpu.usage"] == 79.0);  // guest once, no iowait, no steal

  const Seen other = with_tag(samples, "core", "1");
  CHECK_FALSE(other["sys.cpu.wait"]);  // went back
  CHECK(other["sys.cpu.idle"] == 33.0);
  CHECK(other["sys.cpu.usage"] == 67.0);
}

TEST_CASE("the reference's formulas count iowait as busy and the page cache as used") {
  HostOptions options;
  options.formulas = Formulas::reference;
  Machine laptop("laptop/a", options);
  laptop.collect();
  const std::vector<Seen> samples = laptop.next("laptop/b", 2 * kSecond);
  CHECK(with_tag(samples, "core", "0")["sys.cpu.usage"] == 80.0);
  CHECK_FALSE(with_tag(samples, "core", "1")["sys.cpu.usage"]);
  CHECK(with_field(samples, "sys.mem.usage")["sys.mem.usage"] == 87.5);
}

TEST_CASE("activity, memory and swap") {
  Machine laptop("laptop/a");
  laptop.collect();
  const std::vector<Seen> samples = laptop.next("laptop/b", 2 * kSecond);
  const Seen activity = with_field(samples, "sys.tasks.running");
  CHECK(activity["sys.tasks.running"] == 4);
  CHECK(activity["sys.tasks.created"] == 25.0);
  CHECK(activity["sys.interrupts"] == 2000.0);
  CHECK(activity["sys.interrupts.soft"] == 1500.0);
  CHECK(activity["sys.context.switches"] == 10000.0);

  const Seen memory = with_field(samples, "sys.mem.free");
  CHECK(memory["sys.mem.total"] == 16000.0);
  CHECK(memory["sys.mem.usage"] == 25.0);
  CHECK(memory["sys.mem.cached"] == 8000.0);
  CHECK(memory["sys.mem.pgin.bytes"] == 1024.0 * 1024);
  CHECK(memory["sys.mem.pgout.bytes"] == 2 * 1024.0 * 1024);
  CHECK(memory["sys.mem.faults.minor"] == 1000.0);
  CHECK(memory["sys.mem.faults.major"] == 5.0);
  CHECK(memory["sys.mem.oom.kills"] == 2);

  const Seen swap = with_field(samples, "sys.swap.free");
  CHECK(swap["sys.swap.total"] == 2048.0);
  CHECK(swap["sys.swap.free"] == 1024.0);
  const double page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  CHECK(swap["sys.swap.in.bytes"] == 2 * page);
  CHECK(swap["sys.swap.out.bytes"] == 4 * page);
}

TEST_CASE("disks") {
  Machine laptop("laptop/a");
  laptop.collect();
  const std::vector<Seen> samples = laptop.next("laptop/b", 2 * kSecond);
  const Seen disk = with_tag(samples, "disk", "nvme0n1");
  CHECK(disk["sys.disk.read.mb"] == 2.0);  // 8192 sectors = 4 MiB in 2 s
  CHECK(disk["sys.disk.read.ios"] == 50.0);
  CHECK(disk["sys.disk.read.merges"] == 1.0);
  CHECK(disk["sys.disk.read.time"] == 25.0);
  CHECK(disk["sys.disk.read.await"] == 0.5);
  CHECK(disk["sys.disk.write.mb"] == 4.0);
  CHECK(disk["sys.disk.write.ios"] == 100.0);
  CHECK(disk["sys.disk.write.merges"] == 3.0);
  CHECK(disk["sys.disk.write.await"] == 2.5);
  CHECK(disk["sys.disk.usage"] == 20.0);
  CHECK(disk["sys.disk.queue"] == 0.275);
  CHECK(disk["sys.disk.discard.bytes"] == 1024.0 * 1024);
  CHECK(disk["sys.disk.flush.ios"] == 4.0);

  const Seen mapped = with_tag(samples, "disk", "dm-0");
  CHECK(mapped["sys.disk.read.ios"] == 0.0);
  CHECK_FALSE(mapped["sys.disk.read.await"]);  // no read, no mean

  for (const char *absent : {"nvme0n1p1", "loop0", "zram0", "sda"}) CHECK(with_tag(samples, "disk", absent).fields.empty());
}

TEST_CASE("partitions, loop and ram disks on request") {
  HostOptions options;
  options.partitions = options.loop_disks = options.ram_disks = true;
  Machine laptop("laptop/a", options);
  laptop.collect();
  const std::vector<Seen> samples = laptop.next("laptop/b", 2 * kSecond);
  CHECK(with_tag(samples, "disk", "nvme0n1p1")["sys.disk.read.ios"] == 50.0);
  CHECK(with_tag(samples, "disk", "loop0")["sys.disk.usage"] == 0.0);
  CHECK(with_tag(samples, "disk", "zram0")["sys.disk.usage"] == 0.0);
}

TEST_CASE("a new disk has no rate at first, and none from before it was removed") {
  Machine laptop("laptop/a");
  laptop.collect();
  CHECK(with_tag(laptop.next("laptop/b", 2 * kSecond), "disk", "sda").fields.empty());
  CHECK(with_tag(laptop.next("laptop/b", 2 * kSecond), "disk", "sda")["sys.disk.read.ios"] == 0.0);
  laptop.root.write("proc/diskstats", "");
  laptop.fake.now_ns += kSecond;
  laptop.collect();
  CHECK(with_tag(laptop.next("laptop/b", kSecond), "disk", "sda").fields.empty());
}

TEST_CASE("interfaces") {
  Machine laptop("laptop/a");
  laptop.collect();
  const std::vector<Seen> samples = laptop.next("laptop/b", 2 * kSecond);
  const Seen wired = with_tag(samples, "interface", "enp0s31f6");
  CHECK(wired["sys.net.in.mb"] == Approx(95.3674));  // 12,500,000 bytes a second in Mibit
  CHECK(wired["sys.net.out.mb"] == Approx(47.6837));
  CHECK(wired["sys.net.in.packets"] == 10000.0);
  CHECK(wired["sys.net.out.packets"] == 5000.0);
  CHECK(wired["sys.net.in.errors"] == 1.0);
  CHECK(wired["sys.net.in.drops"] == 2.0);
  CHECK(wired["sys.net.out.drops"] == 0.0);
  CHECK(wired["sys.net.usage"] == 7.5);                                    // (100 + 50) Mbit/s of twice 1000, full duplex
  CHECK(with_tag(samples, "interface", "usb0")["sys.net.usage"] == 10.0);  // (5 + 5) of 100, half duplex

  const Seen wifi = with_tag(samples, "interface", "wlp2s0");
  CHECK(wifi["sys.net.in.mb"] == 0.5);
  CHECK_FALSE(wifi["sys.net.usage"]);  // the driver does not report it
  const Seen bridge = with_tag(samples, "interface", "docker0");
  CHECK_FALSE(bridge["sys.net.in.mb"]);  // went down
  CHECK_FALSE(bridge["sys.net.usage"]);
  CHECK(bridge["sys.net.out.packets"] == 0.5);
  CHECK(with_tag(samples, "interface", "lo")["sys.net.in.mb"] == 1.0);
}

TEST_CASE("the loopback interface can be left out") {
  HostOptions options;
  options.loopback = false;
  Machine laptop("laptop/a", options);
  laptop.collect();
  const std::vector<Seen> samples = laptop.next("laptop/b", 2 * kSecond);
  CHECK(with_tag(samples, "interface", "lo").fields.empty());
  CHECK_FALSE(with_tag(samples, "interface", "wlp2s0").fields.empty());
}

TEST_CASE("pressure, load and uptime") {
  Machine laptop("laptop/a");
  laptop.collect();
  const std::vector<Seen> samples = laptop.next("laptop/b", 2 * kSecond);
  const Seen pressure = with_field(samples, "sys.pressure.cpu.some");
  CHECK(pressure["sys.pressure.cpu.some"] == 12.5);
  CHECK(pressure["sys.pressure.cpu.full"] == 2.25);
  CHECK(pressure["sys.pressure.cpu.some.stall"] == 25.0);
  CHECK(pressure["sys.pressure.cpu.full.stall"] == 0.0);
  CHECK(pressure["sys.pressure.memory.some.stall"] == 1.0);
  CHECK(pressure["sys.pressure.memory.full.stall"] == 0.5);
  CHECK(pressure["sys.pressure.io.some.stall"] == 20.0);
  CHECK(pressure["sys.pressure.io.full.stall"] == 10.0);
  const Seen load = with_field(samples, "sys.load.1m");
  CHECK(load["sys.load.5m"] == 0.75);
  CHECK(load["sys.load.15m"] == 0.25);
  CHECK(load["sys.tasks.total"] == 1234);
  CHECK(load["sys.uptime"] == 86400.25);
}

TEST_CASE("a baseline window emits gauges only, and rates start again after it") {
  Machine laptop("laptop/a");
  laptop.collect();
  laptop.root.load("laptop/b");
  laptop.fake.now_ns += 2 * kSecond;
  const std::vector<Seen> baseline = laptop.collect(ATALAYA_WINDOW_BASELINE);
  for (const Seen &seen : baseline)
    for (const auto &field : seen.fields) CHECK_MESSAGE(!is_rate(field.first), field.first, " = ", field.second);
  CHECK(with_field(baseline, "sys.mem.free")["sys.mem.free"] == 2000.0);
  CHECK(with_tag(laptop.next("laptop/b", kSecond), "core", "0")["sys.cpu.usage"] == 0.0);
}

TEST_CASE("two readings at one moment emit no rate") {
  Machine laptop("laptop/a");
  laptop.collect();
  CHECK(with_tag(laptop.next("laptop/b", 0), "core", "0").fields.empty());
}

TEST_CASE("an old kernel leaves out the metrics it lacks, and the log names them once") {
  Machine old("old/a");
  old.collect();
  const std::vector<Seen> samples = old.next("old/b", kSecond);
  const Seen core = with_tag(samples, "core", "0");
  CHECK(core["sys.cpu.user"] == 50.0);
  CHECK(core["sys.cpu.steal"] == 0.0);
  CHECK_FALSE(core["sys.cpu.guest"]);
  const Seen memory = with_field(samples, "sys.mem.free");
  CHECK_FALSE(memory["sys.mem.usage"]);
  CHECK_FALSE(memory["sys.mem.available"]);
  CHECK_FALSE(memory["sys.mem.oom.kills"]);
  CHECK(with_field(samples, "sys.swap.free").fields.empty());
  const Seen disk = with_tag(samples, "disk", "sda");
  CHECK(disk["sys.disk.read.mb"] == 1.0);
  CHECK(disk["sys.disk.read.await"] == 10.0);
  CHECK_FALSE(disk["sys.disk.discard.ios"]);
  CHECK_FALSE(disk["sys.disk.flush.ios"]);
  CHECK(with_tag(samples, "interface", "eth0")["sys.net.in.mb"] == 1.0);
  CHECK(with_field(samples, "sys.pressure.cpu.some").fields.empty());
  CHECK(old.fake.log ==
        std::vector<std::string>{
            "cannot read " + old.root.path() + "/proc/pressure/cpu: No such file or directory; sys.pressure.cpu is absent",
            "cannot read " + old.root.path() + "/proc/pressure/memory: No such file or directory; sys.pressure.memory is absent",
            "cannot read " + old.root.path() + "/proc/pressure/io: No such file or directory; sys.pressure.io is absent"});
}

TEST_CASE("a recorded virtual machine") {
  Machine vm("vm/a");
  vm.collect();
  const std::vector<Seen> samples = vm.next("vm/b", 3'130'000'000);
  const Seen core = with_tag(samples, "core", "0");
  CHECK(core["sys.cpu.user"] == 93.61);  // (95 + 198) ticks in 3.13 s
  CHECK(core["sys.cpu.kernel"] == 6.39);
  CHECK(core["sys.cpu.usage"] == 100.0);
  CHECK(core["sys.cpu.wait"] == 0.32);
  CHECK(with_field(samples, "sys.mem.usage")["sys.mem.usage"] == 3.51);
  const Seen disk = with_tag(samples, "disk", "vda");
  CHECK(disk["sys.disk.write.mb"] == 6.54);   // 41,920 sectors
  CHECK(disk["sys.disk.write.ios"] == 3.19);  // 10 writes, 116 merged into them
  CHECK(with_tag(samples, "disk", "loop0").fields.empty());
  CHECK_FALSE(with_tag(samples, "interface", "eth0")["sys.net.usage"]);
}

TEST_CASE("files that no kernel writes yield their readable values and nothing else") {
  Machine odd("malformed/a");
  odd.collect();
  odd.fake.now_ns += kSecond;
  const std::vector<Seen> samples = odd.collect();
  CHECK(with_tag(samples, "core", "2")["sys.cpu.user"] == 0.0);
  CHECK(with_field(samples, "sys.tasks.running")["sys.tasks.running"] == 3);
  CHECK_FALSE(with_field(samples, "sys.mem.free")["sys.mem.total"]);
  CHECK(with_field(samples, "sys.load.1m").fields.empty());
  CHECK(with_tag(samples, "disk", "sda")["sys.disk.read.ios"] == 0.0);
  CHECK_FALSE(with_tag(samples, "disk", "sda")["sys.disk.write.ios"]);
  CHECK(with_field(samples, "sys.pressure.cpu.some").fields.empty());
}

TEST_CASE("counters near their end") {
  Machine laptop("laptop/a");
  laptop.root.write("proc/diskstats", "8 0 sda 18446744073709551610 0 0 4294967290 0 0 0 0 0 4294967000 0\n");
  laptop.collect();
  laptop.root.write("proc/diskstats", "8 0 sda 18446744073709551615 0 0 10 0 0 0 0 0 4294967100 0\n");
  laptop.fake.now_ns += kSecond;
  const Seen disk = with_tag(laptop.collect(), "disk", "sda");
  CHECK(disk["sys.disk.read.ios"] == 5.0);
  CHECK(disk["sys.disk.usage"] == 10.0);
  CHECK_FALSE(disk["sys.disk.read.time"]);  // the kernel's 32 bits ran over: a gap, not an invented number
  CHECK_FALSE(disk["sys.disk.read.await"]);
}

TEST_CASE("a folder that is no root is refused with a sentence") {
  FakeHost fake;
  HostOptions options;
  options.root = "/nonexistent";
  HostCollector collector(fake.host(), options);
  CHECK_THROWS_WITH_AS(collector.start(),
                       "cannot open root \"/nonexistent\": No such file or directory; name a folder that holds proc", Failure);
}

TEST_CASE("below another root the network is that of process 1") {
  Machine other("laptop/a");
  other.root.write("proc/1/net/dev", "veth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
  other.collector->start();
  other.collect();
  other.fake.now_ns += kSecond;
  CHECK_FALSE(with_tag(other.collect(), "interface", "veth0").fields.empty());
}

// A root below which the kernel of this host is, as in a container, or another one.
std::vector<Seen> with_clock(FakeHost &fake, const std::string &boot, ReadClock read_clock) {
  TempRoot root;
  root.load("laptop/a");
  root.write("proc/sys/kernel/random/boot_id", boot);
  HostOptions options;
  options.root = root.path();
  HostCollector collector(fake.host(), options, {}, read_clock);
  collector.start();
  core::Batch batch;
  collect(fake, collector, batch);
  return collect(fake, collector, batch);
}

std::string own_boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("the clock, of the kernel that this process runs on only") {
  const ReadClock read_clock = [](timex *clock) {
    CHECK(clock->modes == 0);
    clock->status = STA_PLL | STA_NANO;
    clock->offset = -1'500'000;
    clock->maxerror = 20'500;
    return TIME_OK;
  };
  FakeHost fake;
  const Seen clock = with_field(with_clock(fake, own_boot(), read_clock), "sys.clock.synced");
  CHECK(clock["sys.clock.synced"] == 1);
  CHECK(clock["sys.clock.offset"] == -1.5);
  CHECK(clock["sys.clock.error"] == 20.5);
  CHECK_FALSE(with_field(with_clock(fake, "another", read_clock), "sys.clock.synced")["sys.clock.synced"]);
}

TEST_CASE("a clock that may not be read is absent, and logged once") {
  FakeHost fake;
  const std::vector<Seen> samples = with_clock(fake, own_boot(), [](timex *) {
    errno = EPERM;
    return -1;
  });
  CHECK_FALSE(with_field(samples, "sys.clock.synced")["sys.clock.synced"]);
  const auto logged = [](const std::string &line) { return line.find("sys.clock is absent") != std::string::npos; };
  CHECK(std::count_if(fake.log.begin(), fake.log.end(), logged) == 1);
}

TEST_CASE("this host, twice: declared names only, and percentages that can be") {
  FakeHost fake;
  core::Batch batch;
  HostOptions options;
  options.file_systems = {"ext4", "xfs", "btrfs", "overlay", "tmpfs"};
  HostCollector collector(fake.host(), options, {.wait = std::chrono::seconds(60)});
  collector.start();
  collect(fake, collector, batch);
  fake.now_ns += kSecond;
  const std::vector<Seen> samples = collect(fake, collector, batch);
  std::set<std::string_view> declared;
  for (const Metric &metric : kHostMetrics) declared.insert(view(metric.name));
  for (const Seen &seen : samples)
    for (const auto &field : seen.fields) {
      CHECK_MESSAGE(declared.count(field.first) == 1, field.first);
      if (field.first != "sys.clock.offset") CHECK_MESSAGE(field.second >= 0, field.first);
    }
  CHECK_FALSE(with_tag(samples, "core", "0").fields.empty());
  // In a chroot no mount is called "/".
  std::ifstream mounts("/proc/self/mounts");
  const std::string text((std::istreambuf_iterator<char>(mounts)), std::istreambuf_iterator<char>());
  if (text.find(" / ") == std::string::npos) return;
  const std::optional<double> full = with_tag(samples, "mount", "/")["sys.fs.usage"];
  REQUIRE(full);
  CHECK(*full <= 100);
}

}  // namespace
}  // namespace atalaya::proc
