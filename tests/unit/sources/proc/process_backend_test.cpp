// SPDX-License-Identifier: Apache-2.0
// Both backends on the running host, one against the other; and the error of BPF without permission.
#include "plugins/sources/proc/process/process_backend.h"

#include <doctest/doctest.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bpf/proc.h"
#include "plugins/sources/proc/process/procfs_backend.h"
#include "tests/unit/sources/proc/process_test_host.h"
#include "tests/unit/without_bpf.h"

namespace atalaya::proc {
namespace {

constexpr uint64_t kTickNs = 10'000'000;

// Each test that asks runs once with each way of a pass.
BpfOptions way_of_pass() {
  BpfOptions options;
  options.turn_ns = 0;
  SUBCASE("in one call") {}
  SUBCASE("by the iterator") {
    options.pass_bytes = 0;
  }
  SUBCASE("by the iterator, because one call has too little room") {
    options.pass_bytes = 20 * sizeof(proc_record);
  }
  return options;
}

std::unique_ptr<ProcessBackend> bpf_or_skip(BpfOptions options = {}) {
  auto backend = open_bpf_backend(options);
  if (backend) return std::move(*backend);
  tests::skip_without_bpf(backend.error());
  return nullptr;
}

void pass(ProcessBackend &backend, ProcessModel &model) {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  model.begin({int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec, backend.uptime(), false});
  backend.read(model);
}

// Waits in the child, given a name, until the test releases it.
class Child {
 public:
  explicit Child(const std::function<void()> &prepare) {
    int ready[2];
    REQUIRE(::pipe(hold_) == 0);
    REQUIRE(::pipe(ready) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(hold_[1]);
      prepare();
      char byte = 1;
      (void)!::write(ready[1], &byte, 1);
      (void)!::read(hold_[0], &byte, 1);
      ::_exit(0);
    }
    ::close(hold_[0]);
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  ~Child() { end(); }
  void end() {
    if (pid_ <= 0) return;
    (void)!::write(hold_[1], "", 1);
    ::close(hold_[1]);
    rusage used{};
    ::wait4(pid_, nullptr, 0, &used);
    const auto ns = [](const timeval &time) { return static_cast<uint64_t>(time.tv_sec * 1'000'000'000 + time.tv_usec * 1000); };
    cpu_ns_ = ns(used.ru_utime) + ns(used.ru_stime);
    pid_ = 0;
  }
  // Until all its threads wait for something that does not come by itself.
  void await_rest() const {
    for (int i = 0; i < 60'000; ++i) {
      bool rests = true;
      for (const auto &task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
        std::ifstream file(task.path() / "syscall");
        int64_t call = -1;  // else it prints "running"
        rests = rests && static_cast<bool>(file >> call) && call >= 0 && call != SYS_write && call != SYS_futex;
      }
      if (rests) return;
      ::usleep(1000);
    }
    FAIL("a child does not come to rest, or its /proc/PID/syscall cannot be read");
  }
  pid_t pid() const { return pid_; }
  uint64_t cpu_ns() const { return cpu_ns_; }  // that it used, once it has ended

 private:
  int hold_[2];
  pid_t pid_ = 0;
  uint64_t cpu_ns_ = 0;
};

void burn(int64_t ns) {
  timespec time{};
  do ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  while (int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec < ns);
}

uint64_t cpu_ticks(const procfs::ProcessReading &reading) {
  return (reading.counters.get(procfs::Counter::user_ns) + reading.counters.get(procfs::Counter::kernel_ns)) / kTickNs;
}

void check_same(const procfs::ProcessReading &files, const procfs::ProcessReading &kernel) {
  CHECK(kernel.name.text() == files.name.text());
  CHECK(kernel.start_ns / kTickNs * kTickNs == files.start_ns);
  CHECK(kernel.user == files.user);
  CHECK(kernel.kernel_thread == files.kernel_thread);
  for (const procfs::Gauge gauge :
       {procfs::Gauge::virtual_kib, procfs::Gauge::swap_kib, procfs::Gauge::threads, procfs::Gauge::state, procfs::Gauge::parent}) {
    CHECK(kernel.gauges.has(gauge) == files.gauges.has(gauge));
    if (files.gauges.has(gauge)) CHECK(kernel.gauges.get(gauge) == files.gauges.get(gauge));
  }
  for (const procfs::Counter counter :
       {procfs::Counter::disk_reads_bytes, procfs::Counter::disk_writes_bytes, procfs::Counter::reads_bytes,
        procfs::Counter::writes_bytes, procfs::Counter::reads_calls, procfs::Counter::writes_calls, procfs::Counter::faults_minor,
        procfs::Counter::faults_major, procfs::Counter::switches_voluntary, procfs::Counter::switches_involuntary,
        procfs::Counter::delay_ns})
    if (files.counters.has(counter) && kernel.counters.has(counter))
      CHECK(kernel.counters.get(counter) == files.counters.get(counter));
  // Each part is cut to ticks in the files.
  const uint64_t exact = kernel.exec_ns / kTickNs, cut = cpu_ticks(files);
  CHECK(exact >= cut);
  CHECK(exact <= cut + 2);
}

TEST_CASE("both backends report the same about processes that hold still") {
  const auto bpf = bpf_or_skip(way_of_pass());
  if (!bpf) return;
  std::vector<std::unique_ptr<Child>> children;
  for (const char *name : {"a b) (c", "two\nlines", "señal-ñ", "", "fifteen_bytes_x", ") R 1 1 1 (", "\"quoted\""})
    children.push_back(std::make_unique<Child>([name] {
      ::prctl(PR_SET_NAME, name);
      burn(30'000'000);
      const size_t size = size_t{8} << 20;
      void *memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      for (size_t at = 0; at < size; at += 4096) static_cast<char *>(memory)[at] = 1;
    }));
  children.push_back(std::make_unique<Child>([] {
    for (int i = 0; i < 5; ++i) std::thread(burn, 20'000'000).join();  // threads that have ended count
    std::thread([] { ::pause(); }).detach();
  }));
  for (const auto &child : children) child->await_rest();

  TestHost host;
  ProcfsBackend procfs(host.host(), "/", false);
  ProcessModel files, kernel;
  for (int round = 0; round < 2; ++round) {  // once in full, once as processes that rest
    pass(procfs, files);
    pass(*bpf, kernel);
    for (const auto &child : children) {
      REQUIRE(files.find(child->pid()) != nullptr);
      REQUIRE(kernel.find(child->pid()) != nullptr);
      check_same(files.find(child->pid())->now, kernel.find(child->pid())->now);
      // To the page where the kernel itself sums all CPUs for the files, as it does since 6.17.
      const auto resident = [&](const ProcessModel &model) {
        return static_cast<int64_t>(model.find(child->pid())->now.gauges.get(procfs::Gauge::resident_kib));
      };
      CHECK(std::abs(resident(kernel) - resident(files)) <= 4096);
      CHECK(resident(kernel) >= 8192 * (child == children.back() ? 0 : 1));
    }
    files.end();
    kernel.end();
  }
}

TEST_CASE("a process that rests is read in full once in 16 turns, and turns have a distance in time") {
  BpfOptions options;
  SUBCASE("in one call") {}
  SUBCASE("by the iterator") {
    options.pass_bytes = 0;
  }
  const Child child([] {});
  child.await_rest();
  for (const int64_t turn_ns : {int64_t{0}, int64_t{3600} * 1'000'000'000}) {
    options.turn_ns = turn_ns;
    const auto bpf = bpf_or_skip(options);
    if (!bpf) return;
    ProcessModel model;
    int read = 0;
    for (int i = 0; i < 1 + 3 * PROC_TURNS; ++i) {
      pass(*bpf, model);
      const Process *process = model.find(child.pid());
      REQUIRE(process != nullptr);
      if (i == 0) REQUIRE(!process->unread);
      if (i > 0 && !process->unread) ++read;
      model.end();
    }
    CHECK(read == (turn_ns == 0 ? 3 : 0));
  }
}

TEST_CASE("a kernel that has the means reports all processes in one call") {
  const auto bpf = bpf_or_skip();
  if (!bpf) return;
  utsname system{};
  REQUIRE(::uname(&system) == 0);
  int major = 0, minor = 0;
  REQUIRE(std::sscanf(system.release, "%d.%d", &major, &minor) == 2);
  if (std::pair(major, minor) >= std::pair(6, 7)) CHECK(bpf->at_once());
}

TEST_CASE("both backends list the same processes") {
  const auto bpf = bpf_or_skip(way_of_pass());
  if (!bpf) return;
  TestHost host;
  ProcfsBackend procfs(host.host(), "/", false);
  ProcessModel before, files, after;
  pass(*bpf, before);
  pass(procfs, files);
  pass(*bpf, after);
  size_t known = 0;
  for (const Process *process : before.live()) {
    const Process *later = after.find(process->now.pid);
    if (later == nullptr || later->now.start_ns != process->now.start_ns) continue;  // it ended meanwhile
    if (!(later->now.name == process->now.name)) continue;                           // or runs another program now
    ++known;
    const Process *other = files.find(process->now.pid);
    REQUIRE(other != nullptr);
    CHECK(other->now.name.text() == process->now.name.text());
  }
  CHECK(known > 2);
}

TEST_CASE("a process that ends is reported once, with all that it used and the parent it had") {
  const auto bpf = bpf_or_skip();
  if (!bpf) return;
  const ProcessModel model;
  std::vector<ExitReading> all;
  bpf->follow_exits(model, [&](const ExitReading &end) { all.push_back(end); });
  ::prctl(PR_SET_NAME, "the parent");
  Child child([] { ::prctl(PR_SET_NAME, "the child"); });
  const pid_t pid = child.pid();
  child.end();
  Child busy([] {
    ::prctl(PR_SET_NAME, "busy");
    burn(50'000'000);
  });
  const pid_t busy_pid = busy.pid();
  busy.end();
  ::prctl(PR_SET_NAME, "unit_proc");
  std::vector<ExitReading> ends;
  // The kernel frees a process after a grace period, in which nothing can be awaited from outside.
  for (int i = 0; i < 2400; ++i) {
    const auto lock = bpf->lock_exits();
    bpf->report_exits();
    ends.clear();
    for (const ExitReading &end : all)
      if (end.last.pid == pid || end.last.pid == busy_pid) ends.push_back(end);
    if (ends.size() >= 2) break;
    const timespec nap{0, 25'000'000};
    ::nanosleep(&nap, nullptr);
  }
  REQUIRE(ends.size() == 2);
  if (ends[0].last.pid != pid) std::swap(ends[0], ends[1]);
  CHECK(ends[0].last.name.text() == "the child");
  CHECK(ends[0].parent.text() == "the parent");
  CHECK(ends[0].last.exec_ns > 0);
  CHECK(ends[1].last.name.text() == "busy");
  CHECK(ends[1].last.exec_ns >= 50'000'000);
  // To the nanosecond there, to the microsecond in its parent's wait; its last moments are added.
  CHECK(ends[1].last.exec_ns + 1000 >= busy.cpu_ns());
  CHECK(ends[1].last.exec_ns < busy.cpu_ns() + 50'000'000);
}

TEST_CASE("a thread that ends hands its time over: the process's time never falls") {
  const auto bpf = bpf_or_skip(way_of_pass());
  if (!bpf) return;
  Child child([] {
    std::thread([] {
      for (;;) std::thread([] { burn(300'000); }).join();
    }).detach();
  });
  ProcessModel model;
  uint64_t last = 0;
  for (int i = 0; i < 300; ++i) {
    pass(*bpf, model);
    const Process *process = model.find(child.pid());
    REQUIRE(process != nullptr);
    if (process->now.exec_ns != 0) {
      CHECK(process->now.exec_ns >= last);
      last = process->now.exec_ns;
    }
    model.end();
  }
}

// The result of open_bpf_backend in a child after the action; "skip" when the action is impossible.
std::string reason_after(const std::function<bool()> &action) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text = "skip";
    if (action()) {
      const auto backend = open_bpf_backend();
      text = backend ? "works" : backend.error();
    }
    (void)!::write(pipe[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::array<char, 1024> text{};
  const ssize_t size = ::read(pipe[0], text.data(), text.size());
  ::close(pipe[0]);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  return {text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

bool keep_only(std::initializer_list<unsigned> kept) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  for (const unsigned capability : kept) {
    data[capability / 32].effective |= 1u << capability % 32;
    data[capability / 32].permitted |= 1u << capability % 32;
  }
  return ::geteuid() == 0 && ::syscall(SYS_capset, &header, data.data()) == 0;
}

TEST_CASE("without a capability the error names it; with the two it works") {
  if (!bpf_or_skip()) return;
  CHECK(reason_after([] { return keep_only({}); }) == "CAP_BPF is missing; run as root or add it");
  CHECK(reason_after([] { return keep_only({CAP_BPF}); }) == "CAP_PERFMON is missing; run as root or add it");
  CHECK(reason_after([] { return keep_only({CAP_BPF, CAP_PERFMON}); }) == "works");
}

constexpr uint64_t kEnds = 9000;  // more than the ring holds

void end_many() {
  std::vector<char> stack(65536);
  for (uint64_t i = 0; i < kEnds; ++i) {
    // On this process's memory: under a sanitizer a copy of it takes milliseconds.
    const pid_t child = ::clone([](void *) { return 0; }, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
  }
}

// The kernel frees processes after a grace period, in which nothing can be awaited from outside.
void await_frees(const std::function<bool()> &done) {
  for (int i = 0; i < 6000 && !done(); ++i) {
    const timespec nap{0, 10'000'000};
    ::nanosleep(&nap, nullptr);
  }
}

TEST_CASE("ends without room are counted: reported and lost ends add up to all") {
  const auto bpf = bpf_or_skip();
  if (!bpf) return;
  const ProcessModel model;
  uint64_t reported = 0;
  bpf->follow_exits(model, [&](const ExitReading &) { ++reported; });
  {
    const auto lock = bpf->lock_exits();  // as if a pass took that long
    end_many();
    await_frees([&] { return *bpf->lost_exits() > 0; });
  }
  await_frees([&] {
    const auto lock = bpf->lock_exits();
    bpf->report_exits();
    return reported + *bpf->lost_exits() >= kEnds;
  });
  CHECK(*bpf->lost_exits() > 0);
  CHECK(reported + *bpf->lost_exits() >= kEnds);
}

TEST_CASE("a window may have more ends than the ring holds: they are reported between passes") {
  const auto bpf = bpf_or_skip();
  if (!bpf) return;
  const ProcessModel model;
  std::atomic<uint64_t> reported = 0;
  bpf->follow_exits(model, [&](const ExitReading &) { ++reported; });
  end_many();
  await_frees([&] { return reported >= kEnds / 2; });
  CHECK(reported >= kEnds / 2);
  await_frees([&] {
    const auto lock = bpf->lock_exits();
    bpf->report_exits();
    return reported >= kEnds;
  });
  CHECK(reported >= kEnds);
  CHECK(*bpf->lost_exits() == 0);
}

TEST_CASE("refused bpf(), or missing types of the kernel, are reported") {
  if (!bpf_or_skip()) return;
  const std::string refused = reason_after([] {
    sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
                             BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter{4, program};
    return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
  });
  CHECK(refused.find("Operation not permitted") != std::string::npos);
  const std::string untyped = reason_after([] {
    return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", "/sys/kernel/btf", "tmpfs", 0, nullptr) == 0;
  });
  CHECK(untyped == "the kernel has no type information at /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)");
}

TEST_CASE("a separate pid namespace is reported") {
  if (!bpf_or_skip()) return;
  const std::string reason = reason_after([] {
    if (::unshare(CLONE_NEWPID) != 0) return false;
    // Only children are in the new namespace.
    const pid_t inner = ::fork();
    if (inner != 0) {
      ::waitpid(inner, nullptr, 0);
      ::_exit(0);
    }
    return true;
  });
  CHECK(reason ==
        "the agent runs in its own pid namespace, where pids differ from the kernel's; run it in the host's pid namespace");
}

}  // namespace
}  // namespace atalaya::proc
