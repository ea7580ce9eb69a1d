// SPDX-License-Identifier: Apache-2.0
// Samples of processes that rest at random: one sample for several windows, at a multiple of ten seconds or when the process works
// again, one window late. Sums over time of what goes into a stage and of what comes out.
#pragma once

#include <map>
#include <random>
#include <set>
#include <string>

#include "tests/unit/filters/stages/fixture.h"

namespace atalaya::testing {

class LateSamples {
 public:
  explicit LateSamples(unsigned seed) : random_(seed) {}

  void declare(core::Symbols &symbols) {
    const auto one = [&](std::string_view name, uint32_t kind, int32_t decimals) {
      symbols.declare(name, {sizeof(atalaya_metric_info), kind, decimals, 0, {"1", 1}, {}, {}}, "a test");
    };
    one("p.cpu", ATALAYA_RATE, 2);
    one("p.mem", ATALAYA_GAUGE, 2);
    one("p.threads", ATALAYA_GAUGE, -1);
    one("p.exits", ATALAYA_DELTA, -1);
  }

  template <class Stage>
  void add_window(int second, Bench<Stage> &bench) {
    for (int pid = 0; pid < 9; ++pid) {
      int &rests_since = rests_since_[pid];  // 0: it works
      const bool works = random_() % 6 == 0;
      if (rests_since > 0 && (works || second % 10 == 1)) add(pid, second - 1, second - rests_since, bench);
      if (works)
        rests_since = 0;
      else if (rests_since == 0 || second % 10 == 1)
        rests_since = second;
      if (works) add(pid, second, 1, bench);
    }
    take(bench.batch.raw(), bench.symbols, in_);
  }
  // Those that a stop ends, in the last call.
  template <class Stage>
  void add_held(int second, Bench<Stage> &bench) {
    for (const auto &[pid, rests_since] : rests_since_)
      if (rests_since > 0) add(pid, second, second + 1 - rests_since, bench);
    take(bench.batch.raw(), bench.symbols, in_);
  }
  void take_out(const atalaya_batch &batch, const core::Symbols &symbols) {
    take(batch, symbols, out_);
    for (uint64_t i = 0; i < batch.count; ++i) {
      std::string series;
      for (uint32_t t = 0; t < batch.samples[i].tag_count; ++t) series += std::string(view(batch.samples[i].tags[t].value)) + " ";
      CHECK_MESSAGE(times_.emplace(series, batch.samples[i].time_ns).second, series);
    }
  }
  void check() const {
    REQUIRE(in_.size() == out_.size());
    for (const auto &[name, sum] : in_) CHECK_MESSAGE(out_.at(name) == doctest::Approx(sum).epsilon(1e-9), name);
  }

 private:
  using Sums = std::map<std::string, double>;  // by process and field

  template <class Stage>
  void add(int pid, int end, int length, Bench<Stage> &bench) {
    std::string line = "process=p" + std::to_string(pid % 2) + " pid=" + std::to_string(pid);
    line += " | p.cpu=" + std::to_string(random_() % 200) + ".25 p.mem=" + std::to_string(random_() % 1000) + ".5";
    line += " p.threads=" + std::to_string(random_() % 20) + "i p.exits=" + std::to_string(random_() % 3) + "i";
    bench.add(line, kWindowTime + end * kSecond, length * kSecond);
  }
  static void take(const atalaya_batch &batch, const core::Symbols &symbols, Sums &sums) {
    const uint32_t process = symbols.find("process");
    for (uint64_t i = 0; i < batch.count; ++i) {
      const atalaya_sample &sample = batch.samples[i];
      for (uint32_t f = 0; f < sample.field_count; ++f) {
        const std::string name(symbols.name(sample.fields[f].name));
        const double seconds = static_cast<double>(sample.duration_ns) / kSecond;
        sums[std::string(view(find_tag(sample, process)->value)) + " " + name] +=
            as_double(sample.fields[f]) * (name == "p.exits" ? 1 : seconds);
      }
    }
  }

  std::mt19937 random_;
  std::map<int, int> rests_since_;  // by pid: the first second of the rest
  Sums in_, out_;
  std::set<std::pair<std::string, int64_t>> times_;
};

template <class Stage>
void check_sums_over_time(const core::Value &parameters) {
  constexpr int kSeconds = 200;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    LateSamples late(seed);
    Bench<Stage> bench(parameters);
    late.declare(bench.symbols);
    for (int second = 1; second <= kSeconds; ++second) {
      bench.batch.clear();
      late.add_window(second, bench);
      bench.run(second);
      late.take_out(bench.batch.raw(), bench.symbols);
    }
    bench.batch.clear();
    late.add_held(kSeconds, bench);
    bench.run(last_call_at(kSeconds));
    late.take_out(bench.batch.raw(), bench.symbols);
    late.check();
  }
}

}  // namespace atalaya::testing
