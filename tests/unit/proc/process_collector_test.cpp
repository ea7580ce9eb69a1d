// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/process_collector.h"

#include <doctest/doctest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ctime>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>

#include "tests/unit/proc/process_test_host.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::proc {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kSecond = 1'000'000'000;

// A copy of a recorded tree that the test may change.
class Tree : public testing::TemporaryFolder {
 public:
  explicit Tree(const std::string &name) { fs::copy("tests/fixtures/proc/" + name, path(), fs::copy_options::recursive); }

  std::string read(const std::string &file) const {
    std::ifstream in(*this / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Into the file that is there, as a kept descriptor sees it.
  void write(const std::string &file, const std::string &text) const {
    fs::create_directories(fs::path(*this / file).parent_path());
    std::ofstream(*this / file, std::ios::binary) << text;
  }
  void replace(const std::string &file, const std::string &from, const std::string &to) const {
    std::string text = read(file);
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    write(file, text.replace(at, from.size(), to));
  }
  void remove(const std::string &file) const { fs::remove_all(*this / file); }
};

struct Seen {
  std::map<std::string, std::string> tags;
  std::map<std::string, double> fields;
  std::optional<double> field(const std::string &name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? std::nullopt : std::optional(found->second);
  }
};

class Collector {
 public:
  explicit Collector(ProcessOptions options) : collector_(host.host(), std::move(options)) { collector_.start(); }

  // The samples of live processes by pid; the others are in `without_pid`, by name. Each must be as declared.
  std::map<std::string, Seen> collect(uint32_t flags = 0) {
    batch_.clear();
    without_pid.clear();
    Batch wrapped(host.host(), &batch_.raw());
    Window window{};
    window.struct_size = sizeof(window);
    window.flags = flags;
    collector_.collect(window, wrapped);
    std::map<std::string, Seen> all;
    for (const Sample &sample : wrapped.samples()) {
      Seen seen;
      for (uint32_t i = 0; i < sample.tag_count; ++i)
        seen.tags[std::string(host.name(sample.tags[i].key))] = view(sample.tags[i].value);
      for (uint32_t i = 0; i < sample.field_count; ++i) {
        check_declared(sample.fields[i]);
        seen.fields[std::string(host.name(sample.fields[i].name))] = as_double(sample.fields[i]);
      }
      if (seen.tags.count("pid") != 0)
        REQUIRE(all.emplace(seen.tags.at("pid"), seen).second);
      else
        without_pid.emplace(seen.tags.at("process"), seen);  // of those that ended, one for each parent and cgroup
    }
    return all;
  }

  TestHost host;
  std::map<std::string, Seen> without_pid;

 private:
  void check_declared(const atalaya_field &field) {
    const std::string_view name = host.name(field.name);
    const auto declared = std::find_if(kProcessMetrics.begin(), kProcessMetrics.end(),
                                       [&](const Metric &metric) { return view(metric.name) == name; });
    REQUIRE(declared != kProcessMetrics.end());
    REQUIRE((declared->decimals < 0) == (field.type == ATALAYA_I64));
    if (field.type == ATALAYA_F64) REQUIRE(field.value.f64 == round_to(field.value.f64, declared->decimals));
  }

  ProcessCollector collector_;
  core::Batch batch_;
};

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

CommandLines allowed(const std::vector<std::string> &names) {
  return {.allow = core::MatcherList::parse(names).value(), .redact = {}};
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

double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval &time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double monotonic_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

TEST_CASE("the real host: the CPU of this process equals the kernel's charge") {
  Collector collector({});
  const std::string self = std::to_string(::getpid());
  const double cpu_outer = own_cpu_seconds(), time_outer = monotonic_seconds();
  const auto first = collector.collect();
  CHECK_FALSE(first.at(self).field("proc.cpu.user"));
  CHECK(first.at(self).field("proc.mem.resident") > 0);
  CHECK(first.at(self).field("proc.threads") >= 1);
  const double cpu_inner = own_cpu_seconds(), time_inner = monotonic_seconds();
  while (own_cpu_seconds() - cpu_inner < 0.3) {
  }
  const double cpu_inner_used = own_cpu_seconds() - cpu_inner, time_inner_passed = monotonic_seconds() - time_inner;
  const auto second = collector.collect();
  const double cpu_outer_used = own_cpu_seconds() - cpu_outer, time_outer_passed = monotonic_seconds() - time_outer;

  // The readings lie between the inner and the outer moments; user and kernel are each cut to ticks of 10 ms, twice.
  const Seen &own = second.at(self);
  const double percent = own.field("proc.cpu.user").value() + own.field("proc.cpu.kernel").value();
  CHECK(percent / 100 * time_outer_passed >= cpu_inner_used - 0.04);
  CHECK(percent / 100 * time_inner_passed <= cpu_outer_used + 0.04);
}

TEST_CASE("the real host: a process that was born in the window has rates, and is gone after its end") {
  Collector collector({});
  collector.collect();
  int to_child[2], to_parent[2];
  REQUIRE(::pipe(to_child) == 0);
  REQUIRE(::pipe(to_parent) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(to_child[1]);
    ::close(to_parent[0]);
    const double from = own_cpu_seconds();
    while (own_cpu_seconds() - from < 0.1) {
    }
    char byte = 1;
    (void)!::write(to_parent[1], &byte, 1);
    (void)!::read(to_child[0], &byte, 1);  // until the other end closes
    ::_exit(0);
  }
  char byte = 0;
  REQUIRE(::read(to_parent[0], &byte, 1) == 1);
  const auto during = collector.collect();
  const std::string pid = std::to_string(child);
  CHECK(during.at(pid).field("proc.cpu.user").value() + during.at(pid).field("proc.cpu.kernel").value() > 0);
  for (const int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(end);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(collector.collect().count(pid) == 0);
}

// The collector's log in a separate process, after the action there; "skip" when the action is impossible.
std::vector<std::string> logged_in_child(const ProcessOptions &options, const std::function<bool()> &action) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text = "skip\n";
    if (action()) {
      Collector collector(options);
      for (int window = 0; window < 2; ++window) collector.collect();
      text.clear();
      for (const std::string &line : collector.host.logged) text += line + "\n";
    }
    (void)!::write(pipe[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::array<char, 4096> text{};
  const ssize_t size = ::read(pipe[0], text.data(), text.size());
  ::close(pipe[0]);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  std::istringstream lines(std::string(text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))));
  std::vector<std::string> result;
  for (std::string line; std::getline(lines, line);) result.push_back(line);
  return result;
}

bool drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  return ::syscall(SYS_capset, &header, none.data()) == 0;
}

std::string refused_to_root(const std::string &pid) {
  return "the kernel refuses /proc/PID/io of some processes even to root, the first is process " + pid +
         ": proc.disk.* and proc.io.* are absent for them; grant CAP_SYS_PTRACE if you need them";
}

TEST_CASE("refused io is reported once; root gets the first process instead of the advice to run as root") {
  Tree tree("states");
  fs::permissions(tree.path(), fs::perms{0755});
  for (const char *pid : {"2", "104"}) {
    tree.write("proc/" + std::string(pid) + "/io", "");
    fs::permissions(tree.path() + "/proc/" + pid + "/io", fs::perms::none);
  }
  const std::vector<std::string> skipped{"skip"};
  const auto to_user = logged_in_child({.root = tree.path()}, [] { return ::geteuid() != 0 || ::setuid(65534) == 0; });
  if (to_user != skipped)
    CHECK(to_user == std::vector<std::string>{"cannot read /proc/PID/io of other users: proc.disk.* and proc.io.* are absent for "
                                              "their processes; run as root or grant CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"});
  const auto to_root = logged_in_child({.root = tree.path()}, [] { return ::geteuid() == 0 && drop_capabilities(); });
  if (to_root == skipped) {
    MESSAGE("needs root: skipped");
    return;
  }
  REQUIRE(to_root.size() == 1);
  CHECK((to_root[0] == refused_to_root("2") || to_root[0] == refused_to_root("104")));  // as the folder lists them
}

TEST_CASE("the real host: without privileges io of others is absent, and reported once") {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    Collector collector({.backend = "procfs", .exited = false});
    collector.collect();
    const auto all = collector.collect();
    const auto init = all.find("1");  // where other users' processes are hidden there is nothing to deny
    const bool silent = init == all.end() ? collector.host.logged.empty() : collector.host.logged.size() == 1;
    const bool absent = init == all.end() || (!init->second.field("proc.disk.reads.mb") && init->second.field("proc.cpu.user"));
    ::_exit(silent && absent ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

// A host whose processes run, rest, end and are born at random, as the kernel reports it.
class RandomHost final : public ProcessBackend {
 public:
  explicit RandomHost(uint32_t seed) : random_(seed) {}

  std::optional<uint64_t> uptime() override { return static_cast<uint64_t>(now_ns); }
  void take_exits(const ProcessModel &, const TakeExit &) override {}
  std::optional<uint64_t> lost_exits() const override { return std::nullopt; }
  void read(ProcessModel &model) override {
    for (int32_t pid = 1; pid <= 8; ++pid) {
      ProcessReading &process = all_[static_cast<size_t>(pid)];
      const auto chance = random_() % 40;
      if (chance == 0) process.start_ns = 0;  // it ends
      if (process.start_ns == 0) {
        if (chance > 5) continue;
        process = {};
        process.pid = pid;
        process.name = Name("p" + std::to_string(random_() % 3));
        process.start_ns = static_cast<uint64_t>(now_ns);
        for (size_t i = 0; i < kCounters; ++i) process.counters.set(static_cast<Counter>(i), 0);
      } else if (chance < 34 && model.rests(pid)) {
        continue;
      }
      process.monotonic_ns = now_ns;
      process.gauges.set(Gauge::resident_kib, random_() % 100'000);
      process.gauges.set(Gauge::threads, random_() % 5);
      process.counters.set(Counter::user_ns, process.counters.get(Counter::user_ns) + random_() % 50'000'000);
      model.update(process);
    }
  }

  int64_t now_ns = 0;

 private:
  std::mt19937 random_;
  std::array<ProcessReading, 9> all_;
};

// The integrals over time of all samples of a collector on such a host.
class IntegralsOfHost {
 public:
  IntegralsOfHost(uint32_t seed, int64_t rest_ns) {
    auto backend = std::make_unique<RandomHost>(seed);
    backend_ = backend.get();
    collector_.emplace(host_.host(), ProcessOptions{.expensive_budget = 0, .exited = false, .unattributed = false, .rest_ns = rest_ns},
                       std::move(backend));
    collector_->start();
  }
  void collect(int64_t time_ns, int64_t duration_ns) {
    host_.fixed_now = backend_->now_ns = time_ns;
    batch_.clear();
    Batch wrapped(host_.host(), &batch_.raw());
    Window window{};
    window.struct_size = sizeof(window);
    window.time_ns = time_ns;
    window.duration_ns = duration_ns;
    collector_->collect(window, wrapped);
    samples += wrapped.samples().size();
    for (const Sample &sample : wrapped.samples()) {
      const bool is_of_window = sample.time_ns == 0;
      const int64_t until_ns = is_of_window ? time_ns : sample.time_ns, length_ns = is_of_window ? duration_ns : sample.duration_ns;
      const std::string process = std::string(view(sample.tags[0].value)) + " " + std::string(view(sample.tags[1].value));
      int64_t &covered = covered_[process];
      if (until_ns - length_ns < covered) overlaps = true;
      covered = until_ns;
      for (uint32_t i = 0; i < sample.field_count; ++i)
        sums[process + " " + std::string(host_.name(sample.fields[i].name))] +=
            as_double(sample.fields[i]) * static_cast<double>(length_ns) / kSecond;
    }
  }

  std::map<std::string, double> sums;
  size_t samples = 0;
  bool overlaps = false;

 private:
  TestHost host_;
  RandomHost *backend_ = nullptr;
  std::optional<ProcessCollector> collector_;
  core::Batch batch_;
  std::map<std::string, int64_t> covered_;
};

TEST_CASE("with rest, the integral of each field of each process is that of one sample per window") {
  constexpr int64_t kTenth = kSecond / 10, kBegin = 1'700'000'000 * kSecond;
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    IntegralsOfHost each(seed, 0), merged(seed, kSecond);
    int64_t before = 0;
    for (int64_t tenth = 1; tenth <= 600; ++tenth) {
      if (tenth % 37 == 0) continue;  // a missed window: the next one covers it
      for (IntegralsOfHost *one : {&each, &merged}) one->collect(kBegin + tenth * kTenth, (tenth - before) * kTenth);
      before = tenth;
      if (tenth % 10 != 0) continue;
      REQUIRE(each.sums.size() == merged.sums.size());
      for (const auto &[name, sum] : each.sums)
        CHECK_MESSAGE(std::abs(merged.sums.at(name) - sum) <= 1e-6 * (1 + std::abs(sum)), name);
    }
    CHECK_FALSE(each.overlaps);
    CHECK_FALSE(merged.overlaps);
    CHECK(merged.samples < each.samples / 2);
  }
}

}  // namespace
}  // namespace atalaya::proc
