// SPDX-License-Identifier: Apache-2.0
// The law of instants next to windows: an observed value is one, with or without a length. The oracle is a list of the windows and
// instants, which is searched for each interval.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "tests/unit/store/query/memory_store.h"

namespace atalaya::query::test {
namespace {

constexpr int kEnd = 400;
constexpr const char *kMemory = "proc.mem.resident";
using Sample = MemoryStore::Window;

// Windows that do not overlap, and instants before, in and after them; no two samples have the same time.
std::vector<Sample> any_samples(std::mt19937 &random) {
  const auto any = [&](int from, int to) { return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1)); };
  std::vector<Sample> samples;
  for (int begin = any(0, 50); begin < kEnd - 20;) {
    const int end = begin + any(1, 12), pause = any(0, 2) == 0 ? any(1, 60) : 0;
    for (int s = begin + 1; s <= end + pause; ++s)
      if (s != end && any(0, 15) == 0) samples.push_back({s, 0, any(-400, 400) / 4.0});
    samples.push_back({end, end - begin, any(-100, 100) / 4.0});
    begin = end + pause;
  }
  std::sort(samples.begin(), samples.end(), [](const Sample &a, const Sample &b) { return a.end < b.end; });
  return samples;
}

// Of an interval of whole seconds.
struct Observed {
  std::vector<double> values;             // all of them
  std::vector<double> seconds, instants;  // a value for each second of a window; values of instants
  std::optional<double> first, last;
  bool has_two_last = false;  // a window that goes on, and an instant at the end of the interval
};

Observed observed(const std::vector<Sample> &samples, int begin, int end, Edge edge) {
  Observed all;
  // A moment of a window is half a second before the end of a second; an instant of OpenTSDB's intervals belongs to what follows.
  double first = end + 1, last = begin - 1;
  const auto see = [&](double from, double to, double value) {
    all.values.push_back(value);
    if (from < first) {
      first = from;
      all.first = value;
    }
    all.has_two_last = to > last ? false : all.has_two_last || to == last;
    if (to > last) {
      last = to;
      all.last = value;
    }
  };
  for (const Sample &sample : samples) {
    if (sample.length > 0) {
      const int from = std::max(sample.end - sample.length, begin), to = std::min(sample.end, end);
      for (int s = from; s < to; ++s) all.seconds.push_back(sample.value);
      if (from < to) see(from + 0.5, to, sample.value);
    } else if (edge == Edge::end ? sample.end > begin && sample.end <= end : sample.end >= begin && sample.end < end) {
      all.instants.push_back(sample.value);
      see(sample.end, sample.end, sample.value);
    }
  }
  return all;
}

double mean_of(const std::vector<double> &values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> expected(const std::string &function, const Observed &observed) {
  if (observed.values.empty()) return std::nullopt;
  if (function == "max") return *std::max_element(observed.values.begin(), observed.values.end());
  if (function == "min") return *std::min_element(observed.values.begin(), observed.values.end());
  if (function == "first") return observed.first;
  if (function == "last") return observed.last;
  return mean_of(observed.seconds.empty() ? observed.instants : observed.seconds);
}

TEST_CASE("instants count in minimums, maximums, first and last values of intervals that also have windows") {
  int both = 0;
  for (unsigned seed = 1; seed <= 120; ++seed) {
    std::mt19937 random(seed);
    const std::vector<Sample> samples = any_samples(random);
    MemoryStore store;
    store.add_windows(kMemory, {{"process", "p"}}, samples);
    const int length = 1 + static_cast<int>(random() % 40);
    const int64_t origin = kT0 / kSecond;  // intervals are aligned to the epoch
    const int first_end = static_cast<int>((origin / length + 1) * length - origin);
    for (const Edge edge : {Edge::end, Edge::start})
      for (const std::string function : {"avg", "min", "max", "first", "last"}) {
        Query query;
        query.metrics = {kMemory};
        query.edge = edge;
        query.group = false;
        const int64_t shift = edge == Edge::start ? 1 : 0;
        query.range = {kT0 - shift, kT0 + kEnd * kSecond - shift};
        query.downsample = parse_downsample(std::to_string(length) + "s-" + function).value();
        Budget budget({});
        const auto answers = run_query(query, store, budget);
        REQUIRE(answers.size() == 1);
        const std::vector<Point> &points = answers.front().points;
        auto point = points.begin();
        for (int end = first_end; end - length < kEnd; end += length) {
          INFO("seed " << seed << ", " << length << "s-" << function << " until " << end << ", edge " << static_cast<int>(edge));
          const Observed all = observed(samples, std::max(end - length, 0), std::min(end, kEnd), edge);
          const auto value = expected(function, all);
          if (!value) continue;
          REQUIRE(point != points.end());
          CHECK(point->time_ns == kT0 + (edge == Edge::start ? end - length : end) * kSecond);
          if (function != "last" || !all.has_two_last) CHECK(point->value == doctest::Approx(*value).epsilon(1e-9));
          both += all.seconds.empty() || all.instants.empty() ? 0 : 1;
          ++point;
        }
        CHECK(point == points.end());
      }
  }
  CHECK(both > 1000);
}

}  // namespace
}  // namespace atalaya::query::test
