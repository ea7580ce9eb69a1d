// SPDX-License-Identifier: Apache-2.0
// Jobs with a known cause and healthy jobs, simulated on nodes with slots: which causes are found, and what is found without one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/analysis/jobs/jobs.h"

namespace atalaya::bottleneck::test {
namespace {

constexpr double kMebi = 1 << 20;
constexpr int kJobs = 50, kMinHits = 48, kMaxFalse = 1;

// A cluster and a job on it. The node `ill` is the special one of those that have one.
struct World {
  size_t nodes = 4, slots = 1, waves = 4, reduces = 8, ill = 0;
  bool spark = false;
  double seconds = 20, noise = 0.1, map_spread = 0.05, reduce_spread = 0.1;
  std::vector<double> of_node;                 // multiplies the time of tasks
  double remote = 0.08, remote_of_ill = 0.08;  // probability that a map's input is on another node
  double remote_cost = 1;                      // multiplies the time of a map that reads it
  double fails = 0.003, fails_on_ill = 0.003;
  double skew = 1;  // multiplies the bytes of one reduce
};

class Simulation {
 public:
  Simulation(const World &world, uint64_t seed) : world_(world), random_(seed) {}

  jobs::Analysis run() {
    const size_t maps = world_.nodes * world_.slots * world_.waves;
    const double ended = stage(world_.spark ? "0" : "map", maps, 0, true);
    const double end = stage(world_.spark ? "1" : "reduce", world_.reduces, ended, false);
    spans_.add("job", {{"job", "j"}, {"name", "sort"}, {"framework", world_.spark ? "spark" : "hadoop"}}, 0, end + 1,
               {{"span.outcome", 0}});
    return analysed(spans_);
  }

 private:
  double part() { return std::uniform_real_distribution<double>()(random_); }
  double around(double deviation) { return std::exp(std::normal_distribution<double>(0, deviation)(random_)); }

  // Tasks go to the slot that is free first; a failed one is tried again.
  double stage(const std::string &name, size_t tasks, double begin, bool reads) {
    std::vector<std::pair<double, size_t>> free;  // time, node
    for (size_t i = 0; i < world_.nodes * world_.slots; ++i) free.emplace_back(begin + 0.3 * part(), i % world_.nodes);
    const size_t skewed = static_cast<size_t>(part() * static_cast<double>(tasks));
    double end = begin;
    for (size_t task = 0; task < tasks; ++task) {
      const double bytes =
          128 * kMebi * around(reads ? world_.map_spread : world_.reduce_spread) * (!reads && task == skewed ? world_.skew : 1);
      for (int tried = 0; tried < 4; ++tried) {
        const auto slot = std::min_element(free.begin(), free.end());
        const size_t node = slot->second;
        const bool fails = part() < (node == world_.ill ? world_.fails_on_ill : world_.fails);
        const double time = attempt(name, task, tried, node, slot->first, bytes, reads, fails);
        slot->first += time + 0.2 + 0.3 * part();
        end = std::max(end, slot->first);
        if (!fails) break;
      }
    }
    return end;
  }

  double attempt(const std::string &stage, size_t number, int tried, size_t node, double start, double bytes, bool reads,
                 bool fails) {
    const bool far = reads && part() < (node == world_.ill ? world_.remote_of_ill : world_.remote);
    double time =
        world_.seconds * bytes / (128 * kMebi) * around(world_.noise) * world_.of_node[node] * (far ? world_.remote_cost : 1);
    if (fails) time *= 0.1 + 0.8 * part();
    const std::string id = stage + "_" + std::to_string(number);
    Tags tags = {{"job", "j"},
                 {"stage", stage},
                 {"task", id},
                 {"attempt", id + "_" + std::to_string(tried)},
                 {"host", "n" + std::to_string(node)}};
    Counts counts = {{"span.outcome", fails ? 1 : 0}};
    if (!fails) counts.emplace_back("span.bytes", static_cast<int64_t>(bytes));
    if (!fails && reads) counts.emplace_back("span.bytes.remote", far ? static_cast<int64_t>(bytes) : 0);
    spans_.add("task", tags, start, time, counts);
    if (!fails) phases(tags, start, time, static_cast<int64_t>(bytes), reads);
    return time;
  }

  void phases(const Tags &task, double start, double time, int64_t bytes, bool reads) {
    struct Phase {
      const char *name;
      double part;
      bool has_bytes;
    };
    using Phases = std::vector<Phase>;
    const Phases of_hadoop[] = {{{"shuffle", 0.3, true}, {"sort", 0.05, true}, {"reduce", 0.65, true}},
                                {{"map", 0.85, true}, {"merge", 0.15, true}}};
    const Phases of_spark[] = {{{"shuffle-read", 0.1, true}, {"compute", 0.8, false}, {"result-fetch", 0.1, false}},
                               {{"deserialize", 0.05, false}, {"compute", 0.8, true}, {"shuffle-write", 0.15, true}}};
    double left = time;
    for (const Phase &phase : (world_.spark ? of_spark : of_hadoop)[reads ? 1 : 0]) {
      const double length = std::min(left, time * phase.part * around(world_.noise / 2));
      spans_.add("phase", Spans::with(task, "phase", phase.name), start, length,
                 phase.has_bytes ? Counts{{"span.bytes", bytes}} : Counts());
      start += length;
      left -= length;
    }
  }

  const World &world_;
  std::mt19937_64 random_;
  Spans spans_;
};

World any_world(std::mt19937_64 &random) {
  const auto between = [&](double minimum, double maximum) {
    return std::uniform_real_distribution<double>(minimum, maximum)(random);
  };
  const auto count = [&](int minimum, int maximum) {
    return static_cast<size_t>(std::uniform_int_distribution<int>(minimum, maximum)(random));
  };
  World world;
  world.nodes = count(4, 12);
  world.slots = count(1, 4);
  world.waves = count(world.slots == 1 ? 5 : 3, 9);
  world.reduces = world.nodes * count(1, 3);
  world.ill = count(0, static_cast<int>(world.nodes) - 1);
  world.spark = count(0, 1) == 1;
  world.seconds = between(8, 60);
  world.noise = between(0.03, 0.2);
  world.map_spread = between(0.01, 0.2);
  world.reduce_spread = between(0.02, 0.3);
  world.of_node.assign(world.nodes, 1);
  for (double &factor : world.of_node) factor = std::exp(std::normal_distribution<double>(0, 0.02)(random));
  return world;
}

void differ(World &world, std::mt19937_64 &random) {
  for (double &factor : world.of_node) factor = std::max(0.75, std::normal_distribution<double>(1, 0.08)(random));
}

std::string text_of(const jobs::Analysis &all) {
  std::string text;
  for (const jobs::Finding &finding : all.findings) text += finding.summary + "\n";
  return text;
}

using Change = std::function<void(World &, std::mt19937_64 &)>;
using IsHit = std::function<bool(const jobs::Analysis &, const jobs::Finding &, const std::string &ill)>;

struct Case {
  const char *name;
  Change planted, healthy;
  IsHit is_hit;
};

bool names_node(const jobs::Analysis &all, const jobs::Finding &finding, const std::string &ill) {
  return finding.kind == jobs::Finding::Kind::node && all.data.name(finding.host) == ill &&
         finding.reason != jobs::Reason::remote_reads;
}

double any(std::mt19937_64 &random, double minimum, double maximum) {
  return std::uniform_real_distribution<double>(minimum, maximum)(random);
}

std::vector<Case> cases() {
  const Change nothing = [](World &, std::mt19937_64 &) {};
  const auto far = [](World &world, std::mt19937_64 &random) { world.remote_of_ill = any(random, 0.6, 1); };
  return {{"slow node", [](World &world, std::mt19937_64 &random) { world.of_node[world.ill] *= any(random, 1.6, 3); }, nothing,
           names_node},
          {"skewed reducer", [](World &world, std::mt19937_64 &) { world.skew = 10; }, nothing,
           [](const jobs::Analysis &, const jobs::Finding &finding, const std::string &) {
             return finding.reason == jobs::Reason::skew;
           }},
          {"failing node", [](World &world, std::mt19937_64 &) { world.fails_on_ill = 0.5; },
           [](World &world, std::mt19937_64 &random) { world.fails = world.fails_on_ill = any(random, 0, 0.05); },
           [](const jobs::Analysis &all, const jobs::Finding &finding, const std::string &ill) {
             return finding.reason == jobs::Reason::failures && all.data.name(finding.host) == ill;
           }},
          {"remote reads that matter",
           [far](World &world, std::mt19937_64 &random) {
             far(world, random);
             world.remote_cost = any(random, 1.8, 3);
           },
           nothing,
           [](const jobs::Analysis &, const jobs::Finding &finding, const std::string &) {
             return finding.reason == jobs::Reason::remote_reads;
           }},
          {"remote reads that do not",
           [far](World &world, std::mt19937_64 &random) {
             if (random() % 2 == 0) far(world, random);
             world.of_node[world.ill] *= any(random, 1.8, 3);
           },
           far, names_node},
          {"nodes that differ by 8 %",
           [](World &world, std::mt19937_64 &random) {
             differ(world, random);
             world.of_node[world.ill] = any(random, 1.8, 3);
           },
           differ, names_node}};
}

TEST_CASE("planted causes are found and named, and healthy jobs have no finding") {
  const char *wanted = std::getenv("ATALAYA_TEST_SEED");
  const uint64_t first = wanted == nullptr ? 2024 : std::strtoull(wanted, nullptr, 10);
  std::printf("seed %llu\n%-26s %10s %14s\n", static_cast<unsigned long long>(first), "50 jobs each", "hits", "false findings");
  for (const Case &one : cases()) {
    int hits = 0, wrong = 0;
    for (uint64_t job = 0; job < 2 * kJobs; ++job) {
      std::seed_seq seeds{first, job,
                          static_cast<uint64_t>(one.name[0]) * 256 + static_cast<uint64_t>(one.name[one.name[0] == 'r' ? 18 : 1])};
      std::mt19937_64 random(seeds);
      World world = any_world(random);
      const bool is_planted = job < kJobs;
      (is_planted ? one.planted : one.healthy)(world, random);
      const jobs::Analysis all = Simulation(world, random()).run();
      const bool is_hit = std::any_of(all.findings.begin(), all.findings.end(), [&](const jobs::Finding &finding) {
        return one.is_hit(all, finding, "n" + std::to_string(world.ill));
      });
      if (is_planted) hits += is_hit ? 1 : 0;
      if (!is_planted) wrong += all.findings.empty() ? 0 : 1;
      if (is_planted != is_hit || (!is_planted && !all.findings.empty()))
        std::printf("  %s, job %llu: %zu nodes of %zu slots, %zu waves, noise %.2f, %s; found: %s\n", one.name,
                    static_cast<unsigned long long>(job), world.nodes, world.slots, world.waves, world.noise,
                    world.spark ? "spark" : "hadoop", text_of(all).c_str());
    }
    std::printf("%-26s %7d/50 %11d/50\n", one.name, hits, wrong);
    CHECK(hits >= kMinHits);
    CHECK(wrong <= kMaxFalse);
  }
}

}  // namespace
}  // namespace atalaya::bottleneck::test
