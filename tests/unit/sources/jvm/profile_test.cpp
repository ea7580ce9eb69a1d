// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/profile/profile.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace atalaya::jvm {
namespace {

constexpr int64_t kMilli = 1'000'000;

std::string thread(const std::string &name, const std::string &state, double cpu_ms, const std::string &frames,
                   bool with_cpu = true) {
  const std::string cpu = with_cpu ? " cpu=" + std::to_string(cpu_ms) + "ms elapsed=9.0s" : "";
  return "\"" + name + "\" #" + std::to_string(name.size()) + " prio=5" + cpu + " tid=0x1" + " nid=0x1 runnable\n" +
         "   java.lang.Thread.State: " + state + "\n" + frames + "\n";
}

const std::string kWork = "\tat a.B.work(B.java:1)\n", kOther = "\tat a.B.other(B.java:2)\n",
                  kPoll = "\tat sun.nio.ch.EPoll.wait(java.base@17/Native Method)\n\tat a.B.loop(B.java:3)\n";

std::map<std::string, int64_t> functions(const StackTree &tree) {
  std::map<std::string, int64_t> all;
  for (const FunctionTime &function : tree.functions(100)) all[function.name] = function.self.ns / kMilli;
  return all;
}
using Times = std::map<std::string, int64_t>;

Profile::Names queries() {
  const std::vector<std::string> patterns{"~^query-(?P<task>[0-9]+)$"};
  auto names = tasks::TaskNames::parse(patterns);
  REQUIRE(names);
  return std::make_shared<tasks::TaskNames>(std::move(*names));
}
Times by_task(const StackTree &tree) {
  Times all;
  for (const StackTime &stack : tree.stacks(1000, true)) all[stack.task.task] += stack.on_cpu.ns / kMilli;
  return all;
}

}  // namespace

TEST_CASE("a thread's CPU time is charged to the function seen running, all of it, and nothing before the second dump") {
  Profile profile(false);
  profile.add(thread("t", "RUNNABLE", 1000, kWork), 0);
  CHECK(functions(profile.end_window({}).tree).empty());
  profile.add(thread("t", "RUNNABLE", 1060, kWork), 100 * kMilli);
  profile.add(thread("t", "TIMED_WAITING (sleeping)", 1090, kWork), 200 * kMilli);
  profile.add(thread("t", "RUNNABLE", 1100, kOther), 300 * kMilli);
  const auto window = profile.end_window({});
  CHECK(window.dumps == 3);
  CHECK(functions(window.tree) == Times{{"a.B work", 60}, {"a.B other", 40}});
  CHECK(window.threads->running == 1);
}

TEST_CASE("a thread in native code waits, unless it takes CPU time there") {
  Profile profile(false);
  profile.add(thread("t", "RUNNABLE", 0, kPoll), 0);
  profile.add(thread("t", "RUNNABLE", 10, kPoll), 100 * kMilli);
  CHECK(profile.end_window({}).threads->native == 1);
  profile.add(thread("t", "RUNNABLE", 15, kWork), 200 * kMilli);  // its CPU time meanwhile is work
  profile.add(thread("t", "RUNNABLE", 105, kPoll), 300 * kMilli);
  CHECK(functions(profile.end_window({}).tree) == Times{{"a.B work", 15}, {"sun.nio.ch.EPoll wait", 90}});
}

TEST_CASE("a thread that begins between two dumps has taken nothing before") {
  Profile profile(false);
  profile.add(thread("t", "RUNNABLE", 1000, kWork), 0);
  profile.add(thread("t", "RUNNABLE", 1000, kWork) + thread("new", "RUNNABLE", 30, kOther), 100 * kMilli);
  CHECK(functions(profile.end_window({}).tree) == Times{{"a.B other", 30}});
}

TEST_CASE("a number that another thread has now, and a missing dump, add no time") {
  Profile profile(false);
  profile.add(thread("t", "RUNNABLE", 1000, kWork), 0);
  profile.add(thread("u", "RUNNABLE", 5, kWork), 100 * kMilli);
  CHECK(functions(profile.end_window({}).tree).empty());
  profile.interrupt();
  profile.add(thread("u", "RUNNABLE", 500, kWork), 200 * kMilli);
  CHECK(functions(profile.end_window({}).tree).empty());
  profile.add(thread("u", "RUNNABLE", 510, kWork), 300 * kMilli);
  CHECK(functions(profile.end_window({}).tree) == Times{{"a.B work", 10}});
}

TEST_CASE("before JDK 11 threads do not report their CPU time: one in Java code runs all the time") {
  Profile profile(false);
  const std::string dump = thread("t", "RUNNABLE", 0, kWork, false) + thread("poll", "RUNNABLE", 0, kPoll, false);
  profile.add(dump, 0);
  profile.add(dump, 100 * kMilli);
  const auto window = profile.end_window({});
  CHECK(functions(window.tree) == Times{{"a.B work", 100}});
  CHECK(window.is_model);
  CHECK_FALSE(window.cpu_ns);
}

TEST_CASE("all threads, by the time they were there") {
  Profile profile(true);
  const std::string dump = thread("t", "RUNNABLE", 0, kPoll) + thread("wait", "WAITING (parking)", 0, kWork);
  profile.add(dump, 0);
  profile.add(dump, 100 * kMilli);
  const auto window = profile.end_window({});
  const auto stacks = window.tree.stacks(10, false);
  REQUIRE(stacks.size() == 2);
  CHECK(stacks[0].wall.ns == 100 * kMilli);
  CHECK(stacks[1].wall.ns == 100 * kMilli);
  CHECK(functions(window.tree).empty());
  CHECK(window.threads->waiting == 1);
}

TEST_CASE("all CPU time is reported: that of functions, and that of unseen code") {
  Profile profile(false);
  profile.add(thread("t", "RUNNABLE", 1000, kWork) + thread("ends", "WAITING (parking)", 10, kWork), 0);
  profile.add(thread("t", "RUNNABLE", 1060, kWork) + thread("ends", "WAITING (parking)", 15, kWork), 100 * kMilli);
  profile.add(thread("t", "WAITING (parking)", 1070, kWork), 200 * kMilli);
  const auto window = profile.end_window({});
  CHECK(window.cpu_ns == 75 * kMilli);
  CHECK(functions(window.tree) == Times{{"a.B work", 60}});
  CHECK(window.tree.unseen().ns == 5 * kMilli);
  CHECK(window.tree.stacks(10, true).back().text == "[not seen running]");

  profile.add(thread("t", "RUNNABLE", 1080, kOther), 300 * kMilli);  // with the debt of the window before
  const auto next = profile.end_window({});
  CHECK(next.cpu_ns == 10 * kMilli);
  CHECK(functions(next.tree) == Times{{"a.B other", 20}});

  profile.add(thread("t", "WAITING (parking)", 1087, kOther), 400 * kMilli);
  profile.interrupt();
  CHECK(profile.end_window({}).tree.unseen().ns == 7 * kMilli);
}

TEST_CASE("a thread's CPU time of minutes ago is not charged to its current function") {
  Profile profile(false);
  profile.add(thread("t", "WAITING (parking)", 0, kWork), 0);
  profile.add(thread("t", "WAITING (parking)", 50, kWork), Profile::kMaxUnattributedAge);
  CHECK(profile.end_window({}).tree.unseen().ns == 0);
  profile.add(thread("t", "WAITING (parking)", 51, kWork), 2 * Profile::kMaxUnattributedAge);
  CHECK(profile.end_window({}).tree.unseen().ns == 50 * kMilli);
  profile.add(thread("t", "RUNNABLE", 60, kWork), 2 * Profile::kMaxUnattributedAge + kMilli);
  CHECK(functions(profile.end_window({}).tree) == Times{{"a.B work", 10}});
}

TEST_CASE("before there are two dumps the running thread is unknown") {
  Profile profile(false);
  profile.add(thread("t", "RUNNABLE", 1000, kWork), 0);
  const auto window = profile.end_window({});
  CHECK_FALSE(window.threads);
  CHECK_FALSE(window.cpu_ns);
  CHECK(profile.running() == 1);
}

TEST_CASE("threads without end are not kept") {
  Profile profile(false);
  std::string dump;
  for (size_t i = 0; i < Profile::kMaxThreads + 10; ++i)
    dump += "\"t\" cpu=1.00ms tid=" + std::to_string(i) + " nid=1\n   java.lang.Thread.State: RUNNABLE\n" + kWork + "\n";
  profile.add(dump, 0);
  profile.add(dump, 100 * kMilli);
  CHECK(profile.end_window({}).threads->native == Profile::kMaxThreads);
}

TEST_CASE("stacks that are cut have a root that marks it") {
  Profile profile(false);
  std::string frames;
  for (size_t i = 0; i < ThreadDump::kMaxFrames; ++i) frames += kWork;
  profile.add(thread("t", "RUNNABLE", 0, frames), 0);
  profile.add(thread("t", "RUNNABLE", 10, frames), 100 * kMilli);
  const auto window = profile.end_window({});
  CHECK(window.tree.stacks(1, true).front().text.starts_with("[truncated];a.B.work_[j];"));
  CHECK(window.tree.functions(1).front().stack.starts_with("[truncated];a.B work (B.java:1);"));
  CHECK(window.tree.functions(1).front().trace.ends_with("a.B work (B.java:1)\n[truncated]"));
}

TEST_CASE("the thread that answers reports the cost of the previous response") {
  Profile profile(false);
  profile.add(thread("Attach Listener", "RUNNABLE", 10, ""), 0);
  CHECK(profile.dump_writer_ns() == 0);
  profile.add(thread("Attach Listener", "RUNNABLE", 12, ""), 100 * kMilli);
  CHECK(profile.dump_writer_ns() == 2 * kMilli);
  CHECK(profile.end_window({}).threads->native == 0);  // it runs no Java code
}

TEST_CASE("time under one name is of its task, and that in which a thread got its name is of none") {
  Profile profile(false, {}, queries());
  profile.add(thread("query-7", "RUNNABLE", 1000, kWork), 0);
  profile.add(thread("query-7", "RUNNABLE", 1060, kWork), 100 * kMilli);
  profile.add(thread("query-8", "RUNNABLE", 1100, kWork), 200 * kMilli);
  profile.add(thread("query-8", "RUNNABLE", 1150, kWork), 300 * kMilli);
  profile.add(thread("query-8", "WAITING (parking)", 1160, kWork), 400 * kMilli);
  profile.add(thread("query-9", "WAITING (parking)", 1170, kWork), 500 * kMilli);
  profile.add(thread("query-9", "RUNNABLE", 1180, kWork), 600 * kMilli);
  const auto window = profile.end_window({});
  CHECK(by_task(window.tree) == Times{{"7", 60}, {"8", 50}, {"", 70}});
  CHECK(functions(window.tree) == Times{{"a.B work", 180}});
}

TEST_CASE("whatever a thread does, no task has more than its CPU time, and all together have all of it") {
  std::mt19937 dice(5);  // NOLINT(cert-msc51-cpp): the same in each run
  for (int run = 0; run < 50; ++run) {
    Profile profile(false, {}, queries());
    Times done;
    int64_t cpu = 1000;
    int task = 10;
    for (int dump = 0; dump <= 40; ++dump) {
      // Before the first dump it runs no task.
      for (int step = 0; step < 3 && dump > 0; ++step) {
        if (dice() % 8 == 0) ++task;
        const auto taken = static_cast<int64_t>(dice() % 30);
        cpu += taken;
        done[std::to_string(task)] += taken;
      }
      const std::string name = "query-" + std::to_string(task);
      const bool is_last = dump == 40;
      if (is_last) ++cpu, ++done[std::to_string(task)];
      profile.add(thread(name, is_last || dice() % 3 != 0 ? "RUNNABLE" : "BLOCKED", static_cast<double>(cpu),
                         dice() % 2 == 0 ? kWork : kOther),
                  dump * 100 * kMilli);
    }
    int64_t sum = 0;
    for (const auto &[number, ms] : by_task(profile.end_window({}).tree)) {
      sum += ms;
      if (!number.empty()) CHECK(ms <= done[number]);
    }
    CHECK(sum == cpu - 1000);
  }
}

}  // namespace atalaya::jvm
