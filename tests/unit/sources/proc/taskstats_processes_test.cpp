// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/exits/taskstats_processes.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

namespace atalaya::proc {
namespace {

constexpr int64_t kNow_s = 1'700'000'000;

// A thread of a process that began 100 s ago and has used `ms` of CPU time.
TaskEnd thread(int32_t process, int32_t pid, std::string_view name, uint64_t ms) {
  TaskEnd end;
  end.version = 13;
  end.pid = pid;
  end.process = process;
  end.parent = 1;
  end.name = procfs::Name(name);
  end.elapsed_us = 1000;
  end.process_elapsed_us = 100'000'000;
  end.end_s = kNow_s;
  end.cpu = {ms * 1'000'000, ms * 1000, 0};
  end.counters.set(procfs::Counter::faults_minor, ms);
  return end;
}

TaskEnd last_of(TaskEnd end, uint64_t total_ms) {
  end.last = true;
  end.total = ThreadsTotal{total_ms * 1'000'000, 555};
  return end;
}

class Threads {
 public:
  explicit Threads(size_t max = 16) : sums_(max) {}
  void add(const TaskEnd &end) { sums_.add(end, take_); }
  std::vector<ProcessEnd> finish() {
    sums_.finish(take_);
    return std::exchange(ended_, {});
  }
  size_t size() const { return sums_.size(); }

 private:
  ThreadSums sums_;
  std::vector<ProcessEnd> ended_;
  ThreadSums::Callback take_ = [this](const ProcessEnd &end) { ended_.push_back(end); };
};

TEST_CASE("a process of one thread is its record") {
  Threads threads;
  TaskEnd end = thread(7, 7, "true", 3);
  end.last = true;
  threads.add(end);
  const auto ended = threads.finish();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].pid == 7);
  CHECK(ended[0].parent == 1);
  CHECK(ended[0].named);
  CHECK(ended[0].name.text() == "true");
  CHECK(ended[0].elapsed_us == 100'000'000);
  CHECK(ended[0].end_s == kNow_s);
  CHECK(ended[0].counters.get(procfs::Counter::user_ns) == 3'000'000);
  CHECK(ended[0].counters.get(procfs::Counter::faults_minor) == 3);
}

TEST_CASE("threads are no processes; with the last one their process has ended, with all that they used and its own name") {
  Threads threads;
  threads.add(thread(7, 8, "GC Thread", 10));
  threads.add(thread(7, 7, "java", 5));
  CHECK(threads.finish().empty());
  threads.add(last_of(thread(7, 9, "worker", 1), 16));
  const auto ended = threads.finish();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].pid == 7);
  CHECK(ended[0].named);
  CHECK(ended[0].name.text() == "java");
  CHECK(ended[0].counters.get(procfs::Counter::user_ns) == 16'000'000);
  CHECK(ended[0].counters.get(procfs::Counter::faults_minor) == 16);
  CHECK(ended[0].counters.get(procfs::Counter::delay_ns) == 555);
  CHECK(threads.size() == 0);
}

TEST_CASE("a record that the last one overtook counts") {
  Threads threads;
  threads.add(thread(7, 7, "java", 5));
  threads.add(last_of(thread(7, 9, "worker", 1), 6));
  threads.add(thread(7, 8, "slow", 10));
  const auto ended = threads.finish();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].counters.get(procfs::Counter::user_ns) == 16'000'000);
  CHECK(ended[0].counters.get(procfs::Counter::faults_minor) == 16);
  CHECK(threads.size() == 0);
}

TEST_CASE("where records are missing the CPU time is the kernel's sum, and the rest is unknown") {
  Threads threads;
  threads.add(last_of(thread(7, 9, "worker", 1), 500));
  const auto ended = threads.finish();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].counters.get(procfs::Counter::user_ns) == 500'000'000);
  CHECK(ended[0].counters.get(procfs::Counter::delay_ns) == 555);
  CHECK_FALSE(ended[0].counters.has(procfs::Counter::faults_minor));
  CHECK_FALSE(ended[0].named);  // the record of the first thread is among them
  CHECK(ended[0].name.text() == "worker");
}

TEST_CASE("records without the owner of their thread are ignored, but for the last one of several") {
  Threads threads;
  threads.add(thread(0, 8, "a", 10));
  CHECK(threads.finish().empty());
  CHECK(threads.size() == 0);
  threads.add(last_of(thread(7, 9, "b", 1), 500));
  const auto ended = threads.finish();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].counters.get(procfs::Counter::user_ns) == 500'000'000);
}

TEST_CASE("a pid that is used again does not inherit threads") {
  Threads threads;
  threads.add(thread(7, 8, "old", 10));  // the end of its process was lost
  TaskEnd later = thread(7, 7, "new", 2);
  later.end_s += 50;
  threads.add(later);
  TaskEnd last = last_of(thread(7, 9, "new", 1), 3);
  last.end_s += 51;
  last.process_elapsed_us += 1'000'000;
  threads.add(last);
  const auto ended = threads.finish();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].counters.get(procfs::Counter::faults_minor) == 3);
}

TEST_CASE("of too many processes with ended threads the one that was quiet for longest is forgotten") {
  Threads threads(2);
  threads.add(thread(1, 11, "a", 1));
  threads.add(thread(2, 12, "b", 1));
  threads.add(thread(1, 13, "a", 1));
  threads.add(thread(3, 14, "c", 1));  // instead of process 2
  CHECK(threads.size() == 2);
  threads.add(last_of(thread(1, 1, "a", 1), 3));
  const auto first = threads.finish();
  REQUIRE(first.size() == 1);
  CHECK(first[0].counters.has(procfs::Counter::faults_minor));
  threads.add(last_of(thread(2, 2, "b", 1), 2));
  const auto second = threads.finish();
  REQUIRE(second.size() == 1);
  CHECK(second[0].counters.get(procfs::Counter::user_ns) == 2'000'000);
  CHECK_FALSE(second[0].counters.has(procfs::Counter::faults_minor));
}

TEST_CASE("more processes end than the table can hold: each is reported once") {
  Threads threads(2);
  for (int32_t process = 10; process < 20; ++process) {
    threads.add(thread(process, 1000 + process, "t", 1));
    threads.add(last_of(thread(process, process, "p", 1), 2));
  }
  const auto ended = threads.finish();
  CHECK(ended.size() == 10);
  for (const ProcessEnd &end : ended) CHECK(end.counters.get(procfs::Counter::faults_minor) == 2);
  CHECK(threads.finish().empty());
}

}  // namespace
}  // namespace atalaya::proc
