// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/tasks/task_threads.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace atalaya::perf {
namespace {

constexpr ProcessId kJvm{7, 1, 1}, kOther{8, 1, 1};
constexpr const char *kMaxShortName = "Executor task l";

std::string whole(int task) {
  return "Executor task launch worker for task " + std::to_string(task);
}

struct Fixture {
  tasks::TaskNames names = std::move(*tasks::TaskNames::parse({}));
  TaskThreads threads{names};

  std::string attempt(uint32_t thread, int64_t epoch) const {
    const tasks::TaskTags *task = threads.find(thread, epoch);
    return task == nullptr ? "" : task->attempt;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a dump names the threads that had their name before it, and still have it after it") {
  threads.renamed({kJvm, 70, 100, kMaxShortName});
  threads.renamed({kJvm, 71, 205, kMaxShortName});
  auto unnamed = threads.unnamed();
  std::sort(unnamed[kJvm].begin(), unnamed[kJvm].end());
  CHECK(unnamed == std::map<ProcessId, std::vector<uint32_t>>{{kJvm, {70, 71}}});
  threads.add_full_name(70, whole(1), 200, 210);
  threads.add_full_name(71, whole(2), 200, 210);  // got its name during the dump
  CHECK(attempt(70, 100) == "1");
  CHECK(attempt(71, 205).empty());
  CHECK(threads.is_unnamed(71, 205));
  threads.renamed({kJvm, 71, 300, kMaxShortName});
  threads.add_full_name(71, whole(3), 290, 310);
  CHECK(attempt(71, 300).empty());
  threads.add_full_name(71, whole(3), 310, 320);
  CHECK(attempt(71, 300) == "3");
  CHECK(threads.is_unnamed(71, 205));  // its name is gone
  CHECK(threads.unnamed().empty());
}

TEST_CASE_FIXTURE(Fixture, "a name that is no task ends a task") {
  threads.renamed({kJvm, 70, 100, kMaxShortName});
  threads.add_full_name(70, whole(1), 110, 120);
  threads.renamed({kJvm, 70, 200, "idle"});
  CHECK(attempt(70, 200).empty());
  CHECK_FALSE(threads.is_unnamed(70, 200));
  CHECK(threads.unnamed().empty());
}

TEST_CASE_FIXTURE(Fixture, "a thread that a dump lacks, or whose dumped name differs, has no task") {
  threads.renamed({kJvm, 70, 100, kMaxShortName});
  threads.add_full_name(70, "main", 110, 120);
  CHECK(threads.is_unnamed(70, 100));
  threads.mark_absent(70, 110, 120);
  CHECK_FALSE(threads.is_unnamed(70, 100));
  CHECK(threads.unnamed().empty());
}

TEST_CASE_FIXTURE(Fixture, "a thread that had its name before is met, once per process") {
  threads.add_existing(kJvm, 70, kMaxShortName);
  threads.add_existing(kJvm, 70, kMaxShortName);
  CHECK(threads.size() == 1);
  threads.add_full_name(70, whole(4), 10, 20);
  CHECK(attempt(70, 0) == "4");
  threads.add_existing(kOther, 70, kMaxShortName);  // the number is another thread's now
  CHECK(attempt(70, 0).empty());
  threads.use_short_names(kOther);
  CHECK_FALSE(threads.is_unnamed(70, 0));
}

TEST_CASE_FIXTURE(Fixture, "names are kept for the window after they end, and no longer") {
  threads.renamed({kJvm, 70, 100, kMaxShortName});
  threads.add_full_name(70, whole(1), 110, 120);
  threads.renamed({kJvm, 70, 200, kMaxShortName});
  threads.next_window();
  CHECK(attempt(70, 100) == "1");
  threads.next_window();
  CHECK(attempt(70, 100).empty());
  CHECK(threads.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "names that a burst may still need are kept longer") {
  threads.renamed({kJvm, 70, 100, kMaxShortName});
  threads.add_full_name(70, whole(1), 110, 120);
  threads.renamed({kJvm, 70, 200, kMaxShortName});
  for (int i = 0; i < 5; ++i) threads.next_window(150);  // a burst began at this time
  CHECK(attempt(70, 100) == "1");
  threads.next_window(250);
  CHECK(attempt(70, 100).empty());
}

TEST_CASE("whatever happens, a name is that of the thread's task at that time, or unknown") {
  std::mt19937 dice(5);  // NOLINT(cert-msc51-cpp): the same in each run
  for (int run = 0; run < 50; ++run) {
    Fixture all;
    std::map<std::pair<uint32_t, int64_t>, int> truth;
    std::map<uint32_t, int> current;
    int64_t now = 1;
    for (int step = 0; step < 300; ++step) {
      const uint32_t thread = dice() % 4;
      now += 1 + dice() % 5;
      if (dice() % 2 == 0) {
        current[thread] = step;
        truth[{thread, now}] = step;
        all.threads.renamed({kJvm, thread, now, kMaxShortName});
      } else {
        const std::map<uint32_t, int> seen = current;  // at some moment of the dump
        const int64_t begin = now;
        if (dice() % 2 == 0) {
          now += 1 + dice() % 3;
          current[thread] = step;
          truth[{thread, now}] = step;
          all.threads.renamed({kJvm, thread, now, kMaxShortName});
        }
        now += dice() % 3;
        for (const auto &[one, task] : dice() % 2 == 0 ? seen : current) all.threads.add_full_name(one, whole(task), begin, now);
      }
    }
    int known = 0;
    for (const auto &[name, task] : truth) {
      const std::string attempt = all.attempt(name.first, name.second);
      if (attempt.empty()) continue;
      CHECK(attempt == std::to_string(task));
      ++known;
    }
    CHECK(known > 0);
  }
}

}  // namespace atalaya::perf
