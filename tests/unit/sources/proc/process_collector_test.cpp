// SPDX-License-Identifier: Apache-2.0
// Samples of processes from recorded trees.
#include <cmath>
#include <vector>

#include "tests/unit/sources/proc/process_collector_fixture.h"

namespace atalaya::proc {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kSecond = 1'000'000'000;

TEST_CASE("names are those of the kernel, byte by byte") {
  Collector collector({.root = "tests/fixtures/proc/names"});
  const auto all = collector.collect();
  REQUIRE(all.size() == 6);
  CHECK(all.at("101").tags.at("process") == "a b) (c");
  CHECK(all.at("102").tags.at("process") == "two\nlines");
  CHECK(all.at("103").tags.at("process") == "señal-ñ");
  CHECK(all.at("104").tags.at("process").empty());
  CHECK(all.at("105").tags.at("process") == "fifteen_bytes_x");
  CHECK(all.at("106").tags.at("process") == ") R 1 1 1 (");
  CHECK(collector.host.logged.empty());
}

TEST_CASE("gauges of a recorded host; values that a process lacks are absent") {
  Collector collector({.root = "tests/fixtures/proc/states"});
  const auto all = collector.collect();
  REQUIRE(all.size() == 4);
  const Seen &init = all.at("1");
  CHECK(init.field("proc.mem.resident") == 18.8);  // 19256 KiB
  CHECK(init.field("proc.mem.virtual") == 48.52);
  CHECK(init.field("proc.mem.swap") == 0);
  CHECK(init.field("proc.threads") == 1);
  CHECK(init.field("proc.state") == 'S');
  CHECK(init.field("proc.parent.pid") == 0);
  CHECK(init.field("proc.start.time") == 1795225654.24e9);
  CHECK_FALSE(init.field("proc.cpu.user"));
  CHECK(all.at("103").field("proc.state") == 'Z');
  for (const char *without_memory : {"2", "103"}) CHECK_FALSE(all.at(without_memory).field("proc.mem.resident"));
}

TEST_CASE("rates are the growth of the files' counters over the time between the readings") {
  Tree tree("states");
  Collector collector({.root = tree.path()});
  collector.host.fixed_now = 100 * kSecond;
  collector.collect();
  tree.replace("proc/1/stat", "39669 407890 0 195 156 756", "39679 407890 4 195 206 776");
  tree.write("proc/1/schedstat", "886206152 96594089 516\n");
  tree.write("proc/1/io", "rchar: 10\n");
  tree.replace("proc/1/status", "\nvoluntary_ctxt_switches:\t353", "\nvoluntary_ctxt_switches:\t357");
  tree.replace("proc/104/io", "read_bytes: 1769472", "read_bytes: 3866624");
  tree.replace("proc/104/io", "write_bytes: 315392", "write_bytes: 315391");
  tree.replace("proc/104/io", "rchar: 1925262", "rchar: 1925362");
  collector.host.fixed_now = 102 * kSecond;
  const auto all = collector.collect();

  const Seen &init = all.at("1");
  CHECK(init.field("proc.cpu.user") == 25);  // 50 ticks in 2 s
  CHECK(init.field("proc.cpu.kernel") == 10);
  CHECK(init.field("proc.cpu.delay") == 4);  // 80 ms in 2 s
  CHECK(init.field("proc.faults.minor") == 5);
  CHECK(init.field("proc.faults.major") == 2);
  CHECK(init.field("proc.switches.voluntary") == 2);
  CHECK(init.field("proc.switches.involuntary") == 0);
  CHECK_FALSE(init.field("proc.io.reads.bytes"));  // there was no reading of it before

  const Seen &java = all.at("104");
  CHECK(java.field("proc.disk.reads.mb") == 1);
  CHECK_FALSE(java.field("proc.disk.writes.mb"));  // a reset
  CHECK(java.field("proc.io.reads.bytes") == 50);
  CHECK(java.field("proc.io.reads.calls") == 0);
  CHECK_FALSE(java.field("proc.cpu.delay"));  // of one of its threads only
  CHECK_FALSE(java.field("proc.switches.voluntary"));

  collector.host.fixed_now = 103 * kSecond;
  CHECK_FALSE(collector.collect(ATALAYA_WINDOW_BASELINE).at("1").field("proc.cpu.user"));
  collector.host.fixed_now = 104 * kSecond;
  CHECK(collector.collect().at("1").field("proc.cpu.user") == 0);
}

TEST_CASE("memory that the kernel takes from a sleeping process shows") {
  Tree tree("states");
  Collector collector({.root = tree.path()});
  collector.collect();
  tree.replace("proc/1/stat", " 50872320 4792 ", " 50872320 2744 ");
  tree.replace("proc/1/status", "   19256 kB", "   11064 kB");
  tree.replace("proc/1/status", "VmSwap:\t       0 kB", "VmSwap:\t    8192 kB");
  const auto all = collector.collect();
  CHECK(all.at("1").field("proc.mem.resident") == 10.8);
  CHECK(all.at("1").field("proc.mem.swap") == 8);
}

TEST_CASE("a new process, a reused pid and one that ended") {
  Tree tree("states");
  Collector collector({.root = tree.path()});
  tree.write("proc/uptime", "3000.00 1.00\n");
  collector.host.fixed_now = 100 * kSecond;
  collector.collect();
  tree.remove("proc/103");
  std::string stat = tree.read("proc/104/stat");
  stat.replace(stat.find(" 277805 "), 8, " 300100 ");
  tree.write("proc/104/stat", stat);
  stat.replace(0, 10, "105 (born)");
  tree.write("proc/105/stat", stat);
  tree.write("proc/uptime", "3002.00 1.00\n");
  collector.host.fixed_now = 102 * kSecond;
  const auto all = collector.collect();
  CHECK(all.count("103") == 0);
  CHECK(all.at("104").field("proc.cpu.user") == 3);  // 6 ticks since its birth, in a window of 2 s
  CHECK(all.at("105").field("proc.cpu.user") == 3);
  CHECK_FALSE(all.at("105").field("proc.mem.resident"));  // it has no such file
}

TEST_CASE("broken and ended processes are absent, reported once, and harm no other") {
  Collector collector({.root = "tests/fixtures/proc/broken"});
  for (int window = 0; window < 3; ++window) {
    const auto all = collector.collect();
    REQUIRE(all.size() == 1);
    const Seen &good = all.at("205");
    CHECK(good.tags.at("process") == "good");
    CHECK(good.field("proc.mem.virtual") == 4);
    CHECK_FALSE(good.field("proc.mem.resident"));
    CHECK_FALSE(good.field("proc.mem.swap"));
    CHECK_FALSE(good.field("proc.start.time"));  // no boot time there
  }
  REQUIRE(collector.host.logged.size() == 2);
  CHECK(collector.host.logged[1] ==
        "cannot read the CPU time of the host from /proc/stat: the processes irq and unattributed are absent");
  CHECK(collector.host.logged[0] ==
        "/proc/PID/stat of some processes does not have the format of proc(5): they have no samples; is root a recorded tree?");
}

TEST_CASE("CPU time of the host beyond its processes is unattributed, after interrupts") {
  Tree tree("states");
  Collector collector({.root = tree.path()});
  tree.write("proc/stat", "cpu 1000 0 500 9 9 10 10 9 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\nbtime 1795225000\n");
  collector.host.fixed_now = 100 * kSecond;
  collector.collect();
  CHECK(collector.without_pid.empty());
  tree.replace("proc/1/stat", "39669 407890 0 195 156 756", "39669 407890 0 195 206 776");  // 50 and 20 ticks
  tree.write("proc/stat", "cpu 1090 10 540 9 9 14 16 9 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\nbtime 1795225000\n");
  collector.host.fixed_now = 102 * kSecond;
  collector.collect();
  REQUIRE(collector.without_pid.size() == 2);
  CHECK(collector.without_pid.at("irq").field("proc.cpu.kernel") == 5);  // 10 ticks in 2 s
  CHECK(collector.without_pid.at("unattributed").field("proc.cpu.user") == 25);
  CHECK(collector.without_pid.at("unattributed").field("proc.cpu.kernel") == 10);
  CHECK_FALSE(collector.without_pid.at("unattributed").field("proc.exits.lost"));  // a recorded tree reports no ends
  collector.collect(ATALAYA_WINDOW_BASELINE);
  CHECK(collector.without_pid.empty());
}

procfs::CommandLines allowed(const std::vector<std::string> &names) {
  return {.allow = io::MatcherList::parse(names).value(), .redact = {}};
}

TEST_CASE("extra tags are the requested ones") {
  Collector collector({.root = "tests/fixtures/proc/states",
                       .tags = {"user", "parent", "cgroup", "unit", "container"},
                       .commands = allowed({"java"})});
  const auto all = collector.collect();
  const std::string container = "docker-4f5e0123456789ab0123456789ab0123456789ab0123456789ab0123456789ab.scope";
  CHECK(all.at("104").tags == std::map<std::string, std::string>{{"pid", "104"},
                                                                 {"process", "java"},
                                                                 {"user", "ana"},
                                                                 {"parent", "systemd"},
                                                                 {"cgroup", "/system.slice/" + container},
                                                                 {"unit", container},
                                                                 {"container", "4f5e01234567"},
                                                                 {"command", "java -Xmx1g Main --password=***"}});
  CHECK(all.at("2").tags ==
        std::map<std::string, std::string>{{"pid", "2"}, {"process", "kthreadd"}, {"user", "root"}, {"cgroup", "/"}});

  Collector bare({.root = "tests/fixtures/proc/states"});
  CHECK(bare.collect().at("104").tags == std::map<std::string, std::string>{{"pid", "104"}, {"process", "java"}});
}

TEST_CASE("another program in the same process has its own command line; users follow the file") {
  Tree tree("states");
  Collector collector({.root = tree.path(), .tags = {"user"}, .commands = allowed({"*"}), .expensive_budget = 0});
  collector.collect();
  tree.write("proc/1/cmdline", std::string("/lib/other\0", 11));
  CHECK(collector.collect().at("1").tags.at("command") == "/sbin/init splash");
  tree.replace("proc/1/stat", "(systemd)", "(other)");
  tree.write("etc/passwd", "ana:x:4000:1000::/:/bin/sh\n");
  fs::last_write_time(tree.path() + "/etc/passwd", fs::file_time_type{});
  const auto all = collector.collect();
  CHECK(all.at("1").tags.at("command") == "/lib/other");
  CHECK(all.at("104").tags.at("user") == "1000");
}

TEST_CASE("kernel threads can be left out") {
  Collector collector({.root = "tests/fixtures/proc/states", .kernel_threads = false});
  const auto all = collector.collect();
  CHECK(all.size() == 3);
  CHECK(all.count("2") == 0);
}

TEST_CASE("only processes that used CPU time, on request") {
  Tree tree("states");
  Collector collector({.root = tree.path(), .active_only = true});
  collector.host.fixed_now = 100 * kSecond;
  CHECK(collector.collect().empty());
  tree.replace("proc/1/stat", "39669 407890 0 195 156 756", "39669 407890 0 195 156 757");
  collector.host.fixed_now = 102 * kSecond;
  const auto all = collector.collect();
  REQUIRE(all.size() == 1);
  CHECK(all.at("1").field("proc.cpu.kernel") == 0.5);
}

TEST_CASE("a root without procfs is refused with the fix") {
  TestHost host;
  ProcessCollector collector(host.host(), {.root = "/nonexistent"});
  CHECK_THROWS_WITH_AS(collector.start(),
                       "cannot open the folder proc in /nonexistent: No such file or directory; mount procfs there or change the "
                       "parameter root",
                       Failure);
}

}  // namespace
}  // namespace atalaya::proc
