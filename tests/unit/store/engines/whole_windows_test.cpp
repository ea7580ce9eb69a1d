// SPDX-License-Identifier: Apache-2.0
// Functions and integrals of intervals from the summaries of chunks. The oracle is the list of all samples, searched for each
// interval.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

constexpr int64_t kBegin = kNow - kNow % kDay;
constexpr int kEnd = 4 * 3600;  // seconds
constexpr const char *kMetric = "proc.mem.resident";

struct Sample {
  int length = 0;  // 0: an instant
  double value = 0;
};
using SamplesOf = std::map<int, Sample>;  // by the second of their end

struct World {
  explicit World(unsigned seed) : random(seed) {
    store.declared.add(kMetric, ATALAYA_GAUGE, "By");
    step = std::array{1, 2, 5}.at(random() % 3);
    irregular = random() % 2 == 0;
    Writer writer = store.writer();
    for (int end = step; end <= kEnd; end += step) {
      auto batch = store.samples();
      for (int pid = 0; pid < 4; ++pid) add(batch, pid, end);
      writer.write(batch.span(), kBegin + end * kSecond);
    }
    rest(writer);
    for (int i = 0; i < 6; ++i) {  // late ones stay rows
      auto batch = store.samples();
      put(batch, std::array{0, 1, 3}.at(random() % 3), any(1, kEnd / step) * step, {step, static_cast<double>(any(-900, 900))});
      writer.write(batch.span(), kBegin + kDay);
    }
  }
  int any(int from, int to) { return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1)); }

  void put(Samples &batch, int pid, int end, const Sample &sample) {
    of[pid][end] = sample;
    batch.metrics(kBegin + end * kSecond, {{"pid", std::to_string(pid)}}, sample.length * kSecond).real(kMetric, sample.value);
  }
  // Process 0 is steady, 1 has gaps, 2 has merged windows, 3 has instants for a while.
  void add(Samples &batch, int pid, int end) {
    double &value = values[pid];
    if (any(0, 20) == 0) value = any(-400, 400) / 4.0;
    if (pid == 1 && end / 700 % 3 == 1) return;
    const bool is_odd = irregular && (end - 1) % 3600 < 1200;
    if (pid == 2 && is_odd && end % (3 * step) != 0) return;
    put(batch, pid, end, {pid == 3 && is_odd ? 0 : pid == 2 && is_odd ? 3 * step : step, value});
  }
  static void rest(Writer &writer) {
    for (int i = 0; i < 40; ++i) writer.write({}, kBegin + kDay);
    for (int64_t later = 1; later < 3; ++later)
      while (writer.maintain(kBegin + later * kDay)) {
      }
  }

  std::mt19937 random;
  TestStore store;
  int step = 1;
  bool irregular = false;
  std::map<int, double> values;
  std::map<int, SamplesOf> of;  // by pid
};

// Nothing: the interval has no sample.
std::optional<double> expected(const SamplesOf &samples, const std::string &function, int begin, int end) {
  std::vector<double> values, instants;
  double sum = 0, seconds = 0;
  for (auto next = samples.upper_bound(begin); next != samples.end() && next->first - next->second.length <= end; ++next) {
    const auto &[time, sample] = *next;
    const int from = std::max(time - sample.length, begin), to = std::min(time, end);
    if (sample.length > 0 ? from >= to : time > end) continue;
    values.push_back(sample.value);
    if (sample.length == 0) instants.push_back(sample.value);
    sum += sample.value * (to - from);
    seconds += to - from;
  }
  if (values.empty()) return std::nullopt;
  if (function == "max") return *std::max_element(values.begin(), values.end());
  if (function == "min") return *std::min_element(values.begin(), values.end());
  if (function == "first") return values.front();
  if (function == "last") return values.back();
  if (function.empty()) return sum / (end - begin);
  if (seconds > 0) return sum / seconds;
  for (const double value : instants) sum += value;
  return sum / static_cast<double>(instants.size());
}

TEST_CASE("functions and integrals of intervals are those of all samples, from summaries or not") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    World world(seed);
    SqliteStore reader(world.store.path);
    REQUIRE(world.store.number("SELECT count(*) FROM chunks") > 0);
    for (const int length : {600, 3600, world.any(1, 30) * 60, world.any(300, 4000)})
      for (const auto &[from, to] : {std::pair(0, kEnd), {world.any(0, 4000), world.any(5000, kEnd)}})
        for (const std::string function : {"", "avg", "min", "max", "first", "last"}) {
          query::Query query;
          query.metrics = {kMetric};
          query.group = false;
          query.range = {kBegin + from * kSecond, kBegin + to * kSecond};
          query.downsample =
              query::parse_downsample(std::to_string(length) + "s" + (function.empty() ? "" : "-" + function)).value();
          query::Budget budget({});
          const auto answers = query::run_query(query, reader, budget);
          CHECK(answers.size() == 4);
          for (const query::Answer &answer : answers) {
            const int pid = std::stoi(answer.tags.at("pid"));
            if (function.empty() && pid == 3 && world.irregular) continue;  // instants hold since those before
            auto point = answer.points.begin();
            const int64_t origin = kBegin / kSecond;
            for (int end = static_cast<int>((origin + from) / length * length - origin) + length; end - length < to;
                 end += length) {
              INFO("seed " << seed << ", " << length << "s-" << function << " until " << end << " of " << from << " to " << to
                           << ", process " << pid << ", step " << world.step);
              const auto value = expected(world.of.at(pid), function, std::max(end - length, from), std::min(end, to));
              if (!value) continue;
              REQUIRE(point != answer.points.end());
              CHECK(point->time_ns == kBegin + end * kSecond);
              CHECK(point->value == doctest::Approx(*value).epsilon(1e-9));
              ++point;
            }
            CHECK(point == answer.points.end());
          }
        }
  }
}

// What a query of whole windows gets of one series.
struct Whole final : PointVisitor {
  explicit Whole(const Steps &steps) : steps_(steps) {}
  std::optional<Steps> steps(size_t) const override { return steps_; }
  bool take(size_t, const Summary &summary) override {
    REQUIRE(summary.integral);
    taken += summary.count;
    integral += *summary.integral;
    durations_ns += summary.durations_ns;
    return true;
  }
  void points(size_t, const Points &points) override {
    for (size_t i = 0; i < points.values.size(); ++i) integral += points.values[i] * static_cast<double>(points.durations_ns[i]);
    read += static_cast<int64_t>(points.values.size());
  }
  Steps steps_;
  int64_t taken = 0, read = 0, durations_ns = 0;
  double integral = 0;
};

TEST_CASE("whole windows of a steady series come as summaries, with their integral") {
  World world(1);
  SqliteStore reader(world.store.path);
  const Range range{kBegin, kBegin + kEnd * kSecond};
  for (const int64_t length : {600 * kSecond, int64_t{0}}) {
    const auto series = reader.series({{kMetric}, {{"pid", {"0"}}}, range}, 10);
    REQUIRE(series.size() == 1);
    Whole whole({length, length > 0 ? kBegin % length + 1 : 0, range, true});
    reader.scan(series, range, whole);
    CHECK(whole.taken > 3 * whole.read);
    CHECK(whole.durations_ns == whole.taken * world.step * kSecond);
    double sum = 0;
    for (const auto &[end, sample] : world.of.at(0)) sum += sample.value * static_cast<double>(sample.length * kSecond);
    CHECK(whole.integral == doctest::Approx(sum).epsilon(1e-9));
  }
}

}  // namespace
}  // namespace atalaya::store::test
