// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "plugins/sources/proc/cgroup/cgroup_collector.h"
#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::proc {
namespace {

using namespace test;

struct Machine {
  explicit Machine(const std::string &first_state, int64_t max_cgroups = 1000, int64_t depth = 8) {
    root.load(first_state);
    collector.emplace(fake.host(), CgroupOptions{root.path(), max_cgroups, depth});
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
  std::optional<CgroupCollector> collector;
};

const std::string kJob = "/system.slice/job.service";

TEST_CASE("cgroups of version 2") {
  Machine laptop("laptop/a");
  const Seen first = with_tag(laptop.collect(), "cgroup", kJob);
  CHECK(first["cgroup.mem.usage"] == 256.0);
  CHECK_FALSE(first["cgroup.cpu.usage"]);
  CHECK_FALSE(first["cgroup.mem.oom.kills"]);

  const std::vector<Seen> samples = laptop.next("laptop/b", 2 * kSecond);
  const Seen job = with_tag(samples, "cgroup", kJob);
  CHECK(job["cgroup.cpu.usage"] == 150.0);
  CHECK(job["cgroup.cpu.user"] == 100.0);
  CHECK(job["cgroup.cpu.kernel"] == 50.0);
  CHECK(job["cgroup.cpu.limit"] == 1.5);
  CHECK(job["cgroup.cpu.throttled.periods"] == 5.0);
  CHECK(job["cgroup.cpu.throttled.time"] == 50.0);
  CHECK(job["cgroup.mem.usage"] == 257.0);
  CHECK(job["cgroup.mem.limit"] == 512.0);
  CHECK_FALSE(job["cgroup.mem.high"]);
  CHECK(job["cgroup.mem.peak"] == 300.0);
  CHECK(job["cgroup.mem.cache"] == 150.0);
  CHECK(job["cgroup.mem.rss"] == 100.0);
  CHECK(job["cgroup.mem.swap"] == 0.0);
  CHECK(job["cgroup.mem.oom.kills"] == 1);
  CHECK(job["cgroup.disk.read.bytes"] == 1024.0 * 1024);  // once, though device mapper counts it too
  CHECK(job["cgroup.disk.read.ios"] == 10.0);
  CHECK(job["cgroup.disk.write.bytes"] == 512.0 * 1024);
  CHECK(job["cgroup.disk.write.ios"] == 5.0);
  CHECK(job["cgroup.tasks"] == 13);
  CHECK(job["cgroup.tasks.limit"] == 4096);
  CHECK(job["cgroup.pressure.io.some.stall"] == 20.0);
  CHECK_FALSE(job["cgroup.pressure.cpu.some"]);

  CHECK(with_tag(samples, "cgroup", "/")["cgroup.cpu.usage"] == 200.0);
  CHECK(with_tag(samples, "cgroup", "/")["cgroup.pressure.cpu.some"] == 12.5);
  CHECK_FALSE(with_tag(samples, "cgroup", "/system.slice")["cgroup.mem.limit"]);
  CHECK(with_tag(samples, "cgroup", "/user.slice")["cgroup.disk.read.bytes"] == 2048.0);  // its first I/O
}

TEST_CASE("cgroups of version 1, joined over their trees") {
  Machine old("old/a");
  old.collect();
  const std::vector<Seen> samples = old.next("old/b", kSecond);
  const Seen c1 = with_tag(samples, "cgroup", "/lxc/c1");
  CHECK(c1["cgroup.cpu.usage"] == 50.0);
  CHECK(c1["cgroup.cpu.user"] == 40.0);
  CHECK(c1["cgroup.cpu.kernel"] == 10.0);
  CHECK(c1["cgroup.cpu.limit"] == 0.5);
  CHECK(c1["cgroup.cpu.throttled.periods"] == 4.0);
  CHECK(c1["cgroup.cpu.throttled.time"] == 300.0);
  CHECK(c1["cgroup.mem.usage"] == 64.0);
  CHECK_FALSE(c1["cgroup.mem.limit"]);
  CHECK(c1["cgroup.mem.cache"] == 8.0);
  CHECK(c1["cgroup.mem.rss"] == 32.0);
  CHECK(c1["cgroup.disk.read.bytes"] == 1024.0 * 1024);
  CHECK(c1["cgroup.disk.write.bytes"] == 2 * 1024.0 * 1024);
  CHECK(c1["cgroup.disk.write.ios"] == 32.0);
  CHECK(samples.size() == 1);  // "/" and "/lxc" have no files here
}

TEST_CASE("a host with both versions takes each controller from one of them") {
  Machine vm("vm/a");
  vm.collect();
  const std::vector<Seen> samples = vm.next("vm/b", 3'130'000'000);
  const Seen top = with_tag(samples, "cgroup", "/");
  CHECK(top["cgroup.cpu.usage"] == doctest::Approx(199.70));  // 6,250,702,377 ns of cpuacct.usage, not cpu.stat of version 2
  CHECK(top["cgroup.pressure.io.some"] == 0.0);               // only version 2 has it
  CHECK(with_tag(samples, "cgroup", "/jobs/job-1")["cgroup.mem.usage"] == 350.79);
}

TEST_CASE("a removed cgroup is not reported, and one of the same name starts again") {
  Machine laptop("laptop/a");
  laptop.collect();
  laptop.root.remove("sys/fs/cgroup/system.slice/job.service");
  laptop.fake.now_ns += kSecond;
  CHECK(with_tag(laptop.collect(), "cgroup", kJob).fields.empty());

  laptop.root.load("laptop/a");
  laptop.fake.now_ns += kSecond;
  laptop.collect();
  std::filesystem::rename(laptop.root.path() + "/sys/fs/cgroup/system.slice/job.service",
                          laptop.root.path() + "/sys/fs/cgroup/gone");
  const Seen again = with_tag(laptop.next("laptop/b", kSecond), "cgroup", kJob);
  CHECK_FALSE(again["cgroup.cpu.usage"]);  // its counters are higher, yet it is another one
  CHECK(again["cgroup.mem.usage"] == 257.0);
  CHECK(laptop.fake.log.empty());
}

TEST_CASE("a baseline window emits gauges only") {
  Machine laptop("laptop/a");
  laptop.collect();
  laptop.root.load("laptop/b");
  laptop.fake.now_ns += kSecond;
  const Seen job = with_tag(laptop.collect(ATALAYA_WINDOW_BASELINE), "cgroup", kJob);
  CHECK(job["cgroup.mem.usage"] == 257.0);
  CHECK_FALSE(job["cgroup.cpu.usage"]);
  CHECK_FALSE(job["cgroup.pressure.io.some.stall"]);
}

TEST_CASE("depth and number are bounded, and the bound is logged once") {
  Machine shallow("laptop/a", 1000, 1);
  const std::vector<Seen> samples = shallow.collect();
  CHECK(with_tag(samples, "cgroup", kJob).fields.empty());
  CHECK(shallow.fake.log.empty());

  Machine few("laptop/a", 1);
  few.collect();
  CHECK(few.collect().size() == 1);
  CHECK(few.fake.log ==
        std::vector<std::string>{"more than 1 cgroups: the rest has no samples and counts in the parents only; raise max_cgroups"});
}

TEST_CASE("a host without cgroups reports it and continues") {
  Machine bare("laptop/a");
  bare.root.write("proc/self/mountinfo", "26 30 0:24 / /proc rw - proc proc rw\n");
  bare.collector->start();
  CHECK(bare.collect().empty());
  CHECK(bare.fake.log == std::vector<std::string>{"no cgroup file system is mounted; cgroup samples are absent"});
}

TEST_CASE("limits") {
  CHECK_FALSE(cgroup::parse_limit("max\n"));
  CHECK_FALSE(cgroup::parse_limit("9223372036854771712\n"));
  CHECK(cgroup::parse_limit("4096\n") == 4096);
  CHECK_FALSE(cgroup::parse_cpu_max("max 100000\n"));
  CHECK(cgroup::parse_cpu_max("25000 100000\n") == 0.25);
  CHECK_FALSE(cgroup::parse_cpu_max("25000 0\n"));
  CHECK_FALSE(cgroup::parse_cpu_max(""));
  CHECK_FALSE(cgroup::cores_of_quota(cgroup::parse_amount("-1\n"), 100000));
}

TEST_CASE("this host's own cgroups") {
  FakeHost fake;
  core::Batch batch;
  CgroupCollector collector(fake.host(), {});
  collector.start();
  collect(fake, collector, batch);
  fake.now_ns += kSecond;
  for (const Seen &seen : collect(fake, collector, batch)) {
    CHECK(seen.tags.begin()->second.front() == '/');
    for (const auto &field : seen.fields) CHECK_MESSAGE(field.second >= 0, field.first);
  }
}

}  // namespace
}  // namespace atalaya::proc
