// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/models/models.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/analysis/phases/traces.h"

namespace atalaya::phases {
namespace {

using doctest::Approx;
constexpr double kSecond = 1e9;

// read and parse depend on the input, warm-up does not; sort takes 3 s and 2 core-seconds per second of read.
struct Simulated {
  explicit Simulated(uint32_t seed) : random(seed) {}
  Step step(const std::string &phase, double seconds, double cpu_percent, double memory, double written) {
    std::normal_distribution<double> noise(1, spread);
    Step one;
    one.phase = phase;
    one.occurrence.start_ns = now_ns;
    one.occurrence.end_ns = now_ns += static_cast<int64_t>(seconds * noise(random) * kSecond);
    const auto samples = static_cast<int>(std::max(seconds * 2, 4.0));
    const double cpu = cpu_percent * noise(random), resident = memory * noise(random);
    for (int i = 0; i < samples; ++i) {
      ResourceValues values;
      values.values[kCpu] = cpu + (i % 2 == 0 ? 3 : -3);
      values.values[kMemory] = resident + i * 0.01;
      values.values[kWrites] = written / seconds;
      one.occurrence.usage.add(values);
      one.occurrence.threads.add(2);
    }
    return one;
  }
  ProgramRun run(double input, double cpu = 1, double leak = 0, double slow_disk = 1) {
    ProgramRun one{"h", "Sort", std::to_string(++pid), {}};
    one.steps.push_back(step("warm-up", 2, 100, 50, 0));
    one.steps.push_back(step("read", input, 60, 50 + 10 * input, 0));
    one.steps.push_back(step("sort", 3 * input * cpu, 180, 50 + 20 * input + leak, 0));
    one.steps.push_back(step("write", 0.5 * input * slow_disk, 20, 50 + 20 * input + leak, 40 * input));
    return one;
  }
  std::mt19937 random;
  double spread = 0.01;
  int64_t now_ns = 1'700'000'000'000'000'000;
  int pid = 0;
};

std::vector<ProgramRun> normal_runs(Simulated &simulated, size_t count) {
  std::vector<ProgramRun> runs;
  for (size_t i = 0; i < count; ++i) runs.push_back(simulated.run(2 + static_cast<double>(i * 7 % 15)));
  return runs;
}

TEST_CASE("a phase of an input that was never seen is predicted from the phases before it") {
  Simulated simulated(1);
  const auto runs = normal_runs(simulated, 30);
  const Models models(runs);
  CHECK(models.dependent() == std::set<std::string>{"read", "sort", "write"});
  for (const double input : {2.5, 7.5, 12.5, 20.0}) {
    const ProgramRun run = simulated.run(input);
    const Observation sort = observation_of(run, 2, models.dependent());
    CHECK(sort.context == Context{"sort", {"read"}});
    const auto seconds = models.predict(sort, Target::seconds), cpu = models.predict(sort, Target::cpu);
    REQUIRE(seconds);
    CHECK(seconds->value == Approx(3 * input).epsilon(0.08));
    CHECK(seconds->model->is_linear);
    CHECK(seconds->model->r2 > 0.95);
    CHECK(seconds->model->accuracy > 95);
    CHECK(cpu->value == Approx(3 * input * 1.8).epsilon(0.08));
  }
}

// Each amount of the phases before has an error of its own, so that all of them together know more about the input than one.
TEST_CASE("few runs with noise are predicted better than from the time of the phase before alone") {
  double ours = 0, of_time = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Simulated simulated(seed);
    simulated.spread = 0.05;
    const auto runs = normal_runs(simulated, 15);
    const Models models(runs);
    double ratio = 0;
    for (const ProgramRun &run : runs) ratio += run.steps[3].occurrence.seconds() / run.steps[2].occurrence.seconds() / 15;
    for (int input = 3; input < 16; ++input) {
      const ProgramRun run = simulated.run(input);
      const double expected = 0.5 * input;
      const auto predicted = models.predict(observation_of(run, 3, models.dependent()), Target::seconds);
      REQUIRE(predicted);
      ours += std::abs(predicted->value - expected) / expected;
      of_time += std::abs(run.steps[2].occurrence.seconds() * ratio - expected) / expected;
    }
  }
  CHECK(ours < 0.9 * of_time);
}

TEST_CASE("where the data carry no prediction there is none") {
  Simulated simulated(2);
  const Models few(normal_runs(simulated, kMinRuns - 1));
  const ProgramRun run = simulated.run(5);
  CHECK_FALSE(few.predict(observation_of(run, 2, few.dependent()), Target::seconds));
  CHECK(anomalies_of(run, few).anomalies.empty());
  CHECK(anomalies_of(run, few).without_model == 4);
  const Models models(normal_runs(simulated, 20));
  ProgramRun unknown = run;
  unknown.steps[2].phase = "shuffle";
  CHECK_FALSE(models.predict(observation_of(unknown, 2, models.dependent()), Target::seconds));
  // Nobody measured the network: there is no model of it.
  CHECK_FALSE(models.predict(observation_of(run, 2, models.dependent()), Target::sent));
}

TEST_CASE("a phase that none of 15 normal runs has is not normal, by its time") {
  Simulated simulated(4);
  const Models models(normal_runs(simulated, kEnoughRuns)), few(normal_runs(simulated, kEnoughRuns - 1));
  ProgramRun run = simulated.run(5);
  run.steps[2].phase = "shuffle-12ab";  // 15 s
  const Verdict verdict = anomalies_of(run, models);
  REQUIRE(verdict.anomalies.size() == 1);
  CHECK(verdict.anomalies[0].step == &run.steps[2]);
  CHECK(verdict.anomalies[0].target == Target::seconds);
  CHECK(verdict.anomalies[0].seen == run.steps[2].occurrence.seconds());
  CHECK(verdict.anomalies[0].predicted == 0);
  CHECK(verdict.anomalies[0].summary == "phase shuffle is in none of 15 normal runs");
  CHECK(verdict.unknown.empty());
  CHECK(anomalies_of(run, few).anomalies.empty());
  CHECK(anomalies_of(run, few).unknown == std::vector<std::string>{"shuffle-12ab"});
  // Its ends are known to one sample each: some samples may be a part of a neighbour.
  run.steps[2] = simulated.step("shuffle-12ab", 4, 100, 50, 0);
  CHECK(anomalies_of(run, models).anomalies.empty());
  CHECK(anomalies_of(run, models).unknown == std::vector<std::string>{"shuffle-12ab"});
}

// A phase of a few samples is sometimes too short to be found.
TEST_CASE("where the phase before is missing, the one before that predicts") {
  Simulated simulated(5);
  const auto without_sort = [](ProgramRun run) {
    run.steps.erase(run.steps.begin() + 2);
    return run;
  };
  auto runs = normal_runs(simulated, 30);
  for (size_t i = 0; i < runs.size(); i += 6) runs[i] = without_sort(std::move(runs[i]));
  const Models models(runs);
  for (int i = 0; i < 25; ++i) {
    const double input = 2.2 + i * 0.6;
    CHECK(anomalies_of(without_sort(simulated.run(input)), models).anomalies.empty());
    const ProgramRun slow = without_sort(simulated.run(input, 1, 0, 2));
    const Observation write = observation_of(slow, 2, models.dependent());
    REQUIRE(write.context == Context{"write", {"read"}});
    CHECK(models.predict(write, Target::seconds)->value == Approx(0.5 * input).epsilon(0.1));
    const Verdict verdict = anomalies_of(slow, models);
    REQUIRE_FALSE(verdict.anomalies.empty());
    CHECK(verdict.anomalies[0].step->phase == "write");
    CHECK(verdict.anomalies[0].target == Target::seconds);
  }
}

TEST_CASE("the next phase is the one that most often follows") {
  Simulated simulated(3);
  const Models models(normal_runs(simulated, 10));
  ProgramRun run = simulated.run(5);
  CHECK(models.next_phase(run) == "");
  run.steps.pop_back();
  CHECK(models.next_phase(run) == "write");
  run.steps.resize(1);
  CHECK(models.next_phase(run) == "read");
}

// Normal runs with inputs that training has not seen, and planted faults of four kinds.
TEST_CASE("planted faults are found with their phase and metric, and normal runs are not accused") {
  int false_alarms = 0, normal = 0;
  struct Fault {
    const char *phase;
    Target target;
    int found = 0;
  };
  Fault cpu{"sort", Target::cpu}, leak{"sort", Target::memory}, disk{"write", Target::seconds};
  constexpr int kRounds = 25;
  const auto programs = static_cast<int>(test::rounds(4));
  for (int program = 0; program < programs; ++program) {
    Simulated simulated(10 + static_cast<uint32_t>(program));
    simulated.spread = 0.03;
    const Models models(normal_runs(simulated, 30));
    const auto check = [&](Fault &fault, const ProgramRun &run) {
      for (const Anomaly &one : anomalies_of(run, models).anomalies)
        if (one.step->phase == fault.phase && one.target == fault.target && one.distance > 0) {
          ++fault.found;
          return;
        }
    };
    for (int i = 0; i < kRounds; ++i) {
      const double input = 2.2 + i * 0.6;
      const ProgramRun good = simulated.run(input);
      false_alarms += anomalies_of(good, models).anomalies.empty() ? 0 : 1;
      ++normal;
      check(cpu, simulated.run(input, 2));
      check(leak, simulated.run(input, 1, 400));
      check(disk, simulated.run(input, 1, 0, 4));
    }
  }
  MESSAGE("false alarms: " << false_alarms << " of " << normal << "; found: CPU " << cpu.found << ", memory " << leak.found
                           << ", disk " << disk.found);
  CHECK(false_alarms <= normal / 50);
  CHECK(cpu.found == programs * kRounds);
  CHECK(leak.found == programs * kRounds);
  CHECK(disk.found == programs * kRounds);
}

// Runs of one phase, whose time differs from run to run as the errors of a measurement do: log-normal.
ProgramRun run_of_time(std::mt19937 &random, double spread, double slower = 1) {
  std::normal_distribution<double> error(0, spread);
  Step step;
  step.phase = "sort";
  step.occurrence.end_ns = static_cast<int64_t>(100 * slower * std::exp(error(random)) * kSecond);
  for (int i = 0; i < 1000; ++i) step.occurrence.threads.add(1);
  ProgramRun run{"h", "Sort", "1", {}};
  run.steps.push_back(std::move(step));
  return run;
}

TEST_CASE("one of 1000 comparisons of normal runs is a false alarm, however few runs teach the limit, and slow runs are found") {
  constexpr double kSpread = 0.2;
  for (const size_t count : {8, 15, 30, 60}) {
    CAPTURE(count);
    std::mt19937 random(static_cast<uint32_t>(count));
    const auto programs = static_cast<int>(test::rounds(2000));
    constexpr int kRuns = 20;
    int alarms = 0, found = 0;
    for (int program = 0; program < programs; ++program) {
      std::vector<ProgramRun> normal;
      for (size_t i = 0; i < count; ++i) normal.push_back(run_of_time(random, kSpread));
      const Models models(normal);
      for (int i = 0; i < kRuns; ++i) {
        alarms += anomalies_of(run_of_time(random, kSpread), models).anomalies.empty() ? 0 : 1;
        found += anomalies_of(run_of_time(random, kSpread, std::exp(8 * kSpread)), models).anomalies.empty() ? 0 : 1;
      }
    }
    const double all = programs * kRuns;
    MESSAGE(count << " runs: false alarms " << alarms / all << ", found " << found / all);
    CHECK(alarms <= 0.001 * all + 3 * std::sqrt(0.001 * all));
    CHECK(found >= 0.85 * all);
  }
}

TEST_CASE("the words say the phase, the direction and the size") {
  Simulated simulated(5);
  const auto runs = normal_runs(simulated, 20);
  const Models models(runs);
  const ProgramRun slow = simulated.run(8, 2.1);
  const Verdict verdict = anomalies_of(slow, models);
  REQUIRE(!verdict.anomalies.empty());
  bool said = false;
  for (const Anomaly &one : verdict.anomalies) said = said || one.summary == "phase sort took 2.1x the CPU that its inputs explain";
  CHECK(said);
  for (const Anomaly &one : verdict.anomalies) CHECK(std::abs(one.distance) > one.threshold);
}

TEST_CASE("a constant series never alarms, and a replayed run is normal") {
  Simulated simulated(6);
  simulated.spread = 0;
  std::vector<ProgramRun> runs;
  for (int i = 0; i < 12; ++i) runs.push_back(simulated.run(6));
  const Models models(runs);
  for (const ProgramRun &run : runs) CHECK(anomalies_of(run, models).anomalies.empty());
  CHECK(anomalies_of(simulated.run(6), models).anomalies.empty());
  Simulated noisy(7);
  const auto trained = normal_runs(noisy, 25);
  const Models of(trained);
  for (const ProgramRun &run : trained) CHECK(anomalies_of(run, of).anomalies.empty());
}

// The ends of a phase are known to one sample each.
TEST_CASE("two samples more or less are no anomaly, three are") {
  const auto run_of = [](int samples) {
    ProgramRun run{"h", "Sort", std::to_string(samples), {}};
    Step step;
    step.phase = "sort";
    step.occurrence.end_ns = static_cast<int64_t>(samples * kSecond);
    for (int i = 0; i < samples; ++i) {
      ResourceValues values;
      values.values[kCpu] = 100;
      step.occurrence.usage.add(values);
      step.occurrence.threads.add(1);
    }
    run.steps.push_back(std::move(step));
    return run;
  };
  for (const int length : {3, 6, 9}) {
    const Models models(std::vector<ProgramRun>(10, run_of(length)));
    for (int samples = 1; samples <= 2 * length; ++samples) {
      const bool is_normal = std::abs(samples - length) <= 2;
      if (is_normal) CHECK(anomalies_of(run_of(samples), models).anomalies.empty());
      if (samples - length > 2) CHECK(anomalies_of(run_of(samples), models).anomalies.size() == 2);  // time and CPU
    }
  }
}

TEST_CASE("distances are symmetric and small amounts are no difference") {
  for (const double value : {1.0, 10.0, 1e6}) {
    CHECK(distance_of(value, value, Target::cpu) == 0);
    CHECK(distance_of(2 * value, value, Target::cpu) == Approx(-distance_of(value, 2 * value, Target::cpu)));
  }
  CHECK(std::abs(distance_of(0.01, 0.02, Target::seconds)) < 0.1);
  CHECK(std::abs(distance_of(0, 1, Target::reads)) < 0.25);
}

}  // namespace
}  // namespace atalaya::phases
