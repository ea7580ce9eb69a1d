// SPDX-License-Identifier: Apache-2.0
// Predictions for random jobs with a planted slow node, compared with a simulation of the same job on equal nodes.
#include "plugins/shared/analysis/jobs/schedule/what_if.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/analysis/jobs/jobs.h"

namespace atalaya::bottleneck::test {
namespace {

struct Part {
  std::string phase;
  double per_byte = 0;  // seconds at the usual speed
  bool on_disk = false;
};
struct Work {
  std::string stage, host;
  int64_t bytes = 0;
};
// How many times longer a node takes.
struct Slow {
  double cpu = 1, disk = 1;
};

const std::map<std::string, std::vector<Part>> kParts = {
    {"map", {{"map", 3e-6, false}, {"collect", 0.5e-6, false}, {"spill", 1e-6, true}, {"merge", 0.5e-6, true}}},
    {"reduce", {{"merge", 2e-6, true}, {"sort", 1e-6, false}, {"reduce", 1e-6, false}, {"write", 0.5e-6, true}}},
};

// Spans cuts seconds to whole ns.
double seconds(int64_t ns) {
  return (static_cast<double>(ns) + 0.25) / 1e9;
}

// Each node does its own tasks one after the other; reduces start when all maps have ended. Returns the job's length.
double simulate(const std::vector<Work> &job, const std::string &slow_host, const Slow &slow, Spans *spans) {
  int64_t barrier = 0;
  int number = 0;
  for (const std::string stage : {"map", "reduce"}) {
    std::map<std::string, int64_t> free;
    for (const Work &work : job) {
      if (work.stage != stage) continue;
      int64_t &now = free.try_emplace(work.host, barrier).first->second;
      const Tags task = Spans::task(stage, "t" + std::to_string(++number), work.host);
      const int64_t begin = now;
      for (const Part &part : kParts.at(stage)) {
        const double factor = work.host != slow_host ? 1 : part.on_disk ? slow.disk : slow.cpu;
        const int64_t length = std::llround(1e9 * part.per_byte * static_cast<double>(work.bytes) * factor);
        const Tags phase = Spans::with(task, "phase", part.phase);
        if (spans != nullptr) spans->add("phase", phase, seconds(now), seconds(length), {{"span.bytes", work.bytes}});
        now += length;
      }
      if (spans != nullptr)
        spans->add("task", task, seconds(begin), seconds(now - begin), {{"span.outcome", 0}, {"span.bytes", work.bytes}});
    }
    for (const auto &[host, end] : free) barrier = std::max(barrier, end);
  }
  return seconds(barrier);
}

class Dice {
 public:
  explicit Dice(unsigned seed) : dice_(seed) {}
  double between(double minimum, double maximum) { return std::uniform_real_distribution<double>(minimum, maximum)(dice_); }
  int whole(int minimum, int maximum) { return std::uniform_int_distribution<int>(minimum, maximum)(dice_); }

 private:
  std::mt19937 dice_;
};

const std::string kHosts = "abcd";

void add_work(std::vector<Work> &job, const std::string &stage, char host, int tasks, double spread, Dice &dice) {
  for (int i = 0; i < tasks; ++i)
    job.push_back({stage, std::string(1, host), static_cast<int64_t>(1e6 * dice.between(1 - spread, 1 + spread))});
}

double predicted(const jobs::WhatIf &all, const std::string &change) {
  for (const jobs::Prediction &one : all.predictions)
    if (one.change == change) return one.seconds;
  return -1;
}

double node_c(const std::vector<Work> &job, const Slow &slow) {
  Spans spans;
  const double length = simulate(job, "c", slow, &spans);
  const auto all = what_if(spans.take(), 0, length);
  REQUIRE(all);
  CHECK(all->is_pinned);
  CHECK(all->replayed == doctest::Approx(length).epsilon(0.02));
  return predicted(*all, "node c as fast as the others");
}

}  // namespace

TEST_CASE("a slow CPU and a slow disk, where the node ran a few reduces only") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Dice dice(seed);
    const int maps = dice.whole(3, 8), reduces = dice.whole(1, 2);
    const Slow slow{dice.between(1.5, 4), dice.between(1.5, 20)};  // the reduces are slower than the maps, as they write more
    std::vector<Work> job;
    for (const char host : kHosts) {
      add_work(job, "map", host, maps, 0.1, dice);
      add_work(job, "reduce", host, reduces, 0.5, dice);
    }
    CAPTURE(seed);
    CHECK(node_c(job, slow) == doctest::Approx(simulate(job, "", {}, nullptr)).epsilon(0.1));
  }
}

TEST_CASE("a reduce that has no other to compare with, by the resources of its phases") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Dice dice(seed);
    const Slow slow{dice.between(2, 5), dice.between(1, 5)};
    std::vector<Work> job;
    for (const char host : kHosts) add_work(job, "map", host, dice.whole(3, 6), 0.1, dice);
    job.push_back({"reduce", "c", 4'000'000});
    CAPTURE(seed);
    CHECK(node_c(job, slow) == doctest::Approx(simulate(job, "", {}, nullptr)).epsilon(0.1));
  }
}

TEST_CASE("a node with more bytes than the others is not slow") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Dice dice(seed);
    std::vector<Work> job;
    for (const char host : kHosts) {
      add_work(job, "map", host, dice.whole(3, 8), 0.3, dice);
      add_work(job, "reduce", host, dice.whole(0, 4), 0.3, dice);
    }
    for (Work &work : job)
      if (work.host == "c") work.bytes *= 3;
    CAPTURE(seed);
    CHECK(node_c(job, {}) == -1);
  }
}

TEST_CASE("whatever the job, no change makes it longer, and a node as fast as the others changes nothing") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    Spans spans;
    const bool all_alike = seed % 2 == 0;
    double end = 0;
    for (int i = 0; i < 40; ++i) {
      const std::string host(1, kHosts[static_cast<size_t>(dice.whole(0, 3))]);
      const double begin = dice.between(0, 40), length = all_alike ? 5 : dice.between(0.1, host == "b" ? 30 : 10);
      const Tags task = Spans::task(std::to_string(dice.whole(0, 3)), "t" + std::to_string(i), host);
      spans.add("task", task, begin, length, {{"span.outcome", 0}, {"span.bytes", dice.whole(0, 2) * 1000}});
      if (dice.whole(0, 1) == 0) spans.add("phase", Spans::with(task, "phase", "shuffle"), begin, length / 2);
      end = std::max(end, begin + length);
    }
    const auto all = what_if(spans.take(), 0, end);
    REQUIRE(all);
    for (const jobs::Prediction &one : all->predictions) {
      CAPTURE(one.change);
      CHECK(one.seconds <= end);
      CHECK((!all_alike || !one.change.starts_with("node")));
    }
  }
}

// Which of two nodes is the usual one is a question of words, but free slots must take their times from it.
TEST_CASE("two nodes that take the next task when they are free") {
  Spans spans;
  double a = 0, b = 0;
  for (int i = 0; i < 30; ++i) {
    const bool is_a = a <= b;
    double &now = is_a ? a : b;
    spans.add("task", Spans::task("0", "t" + std::to_string(i), is_a ? "a" : "b"), now, is_a ? 3 : 6, {{"span.outcome", 0}});
    now += is_a ? 3 : 6;
  }
  const auto all = what_if(spans.take(), 0, std::max(a, b));
  REQUIRE(all);
  CHECK(std::max(a, b) == 60);
  CHECK_FALSE(all->is_pinned);
  CHECK(all->replayed == doctest::Approx(60));
  CHECK(predicted(*all, "node b as fast as the others") == doctest::Approx(45));  // 15 tasks each
  CHECK(predicted(*all, "one executor more") == doctest::Approx(36));             // 12 + 12 + 6
}

}  // namespace atalaya::bottleneck::test
