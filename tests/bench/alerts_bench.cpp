// SPDX-License-Identifier: Apache-2.0
// CPU time of comparing 1,000 rules with 10,000 series: alerts_bench. Each metric has 100 series and ten rules, so that a window
// has 100,000 comparisons.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/now.h"
#include "core/plugin/instance.h"
#include "plugins/translators/alerts/alerts.h"

using namespace atalaya;

namespace {

constexpr int kMetrics = 100, kSeries = 100, kRulesPerMetric = 10, kWindows = 20;
constexpr int64_t kEvery = 10'000'000'000, kBegin = 1'795'219'500'000'000'000;

class Quiet final : public core::Surroundings {
 public:
  void count(int32_t, std::string_view, uint64_t) override {}
  int64_t now(int32_t) override { return clock_ns; }
  void log(core::LogLevel, std::string_view text) override {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  }
  bool ledger(uint64_t, atalaya_ledger_row &) override { return false; }
  std::optional<std::string> state_dir() override { return std::nullopt; }
  int64_t clock_ns = 0;
};

core::Value number(double value) {
  core::Value made;
  made.type = core::Value::Type::number;
  made.number = value;
  return made;
}
core::Value text(std::string value) {
  core::Value made;
  made.type = core::Value::Type::string;
  made.string = std::move(value);
  return made;
}
std::string metric(int i) {
  return "bench.metric" + std::to_string(i);
}

core::Value written_rules() {
  core::Value all, written;
  all.type = written.type = core::Value::Type::table;
  for (int i = 0; i < kMetrics * kRulesPerMetric; ++i) {
    core::Value rule;
    rule.type = core::Value::Type::table;
    rule.map = {{"above", number(50 + i % kRulesPerMetric)},
                {"clear", number(40)},
                {"metric", text(metric(i / kRulesPerMetric))},
                {"name", text("rule " + std::to_string(i))}};
    all.list.push_back(std::move(rule));
  }
  written.map = {{"rules", std::move(all)}};
  return written;
}

// Some series cross the limits of the rules in each window.
void fill(core::Batch &batch, core::Symbols &symbols, int window) {
  batch.clear();
  for (int i = 0; i < kMetrics; ++i) {
    const uint32_t name = symbols.intern(metric(i)), host = symbols.intern("host"), disk = symbols.intern("disk");
    for (int series = 0; series < kSeries; ++series) {
      atalaya_sample &sample = batch.add_sample(ATALAYA_METRICS);
      sample.time_ns = kBegin + window * kEvery;
      sample.duration_ns = kEvery;
      batch.add_tag(sample, host, "host" + std::to_string(series / 10));
      batch.add_tag(sample, disk, "disk" + std::to_string(series % 10));
      atalaya_field field{name, ATALAYA_F64, {}};
      field.value.f64 = 30 + (i * 7 + series * 13 + window) % 25;
      batch.add_field(sample, field);
    }
  }
}

}  // namespace

int main() {
  Quiet surroundings;
  core::Symbols symbols;
  const atalaya_component &component = detail::component_of<alerts::Alerts>;
  std::vector<core::Problem> problems;
  auto parameters = core::Parameters::resolve(core::schema_of(component), written_rules(), problems);
  for (const core::Problem &problem : problems) std::fprintf(stderr, "%s: %s\n", problem.path.c_str(), problem.text.c_str());
  auto instance = core::Instance::create({nullptr, &component}, std::move(parameters), "bench", symbols, surroundings);
  if (!instance || !(*instance)->start().ok()) return 1;
  core::Batch batch;
  std::vector<double> costs;
  for (int i = 0; i <= kWindows; ++i) {
    fill(batch, symbols, i);
    surroundings.clock_ns = i * kEvery;
    const atalaya_window window{sizeof(atalaya_window), 0, kBegin + i * kEvery, kEvery, kEvery, i * kEvery};
    const int64_t begin_ns = core::clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!(*instance)->process(window, batch).ok()) return 1;
    if (i > 0)
      costs.push_back(static_cast<double>(core::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns));  // the first one adds series
  }
  std::sort(costs.begin(), costs.end());
  const double median_ns = costs[costs.size() / 2];
  const double share = median_ns * 100 / static_cast<double>(kEvery);
  std::printf(
      "%d rules, %d series: %.1f ms per window (%.1f-%.1f, %d windows), %.2f %% of a core with windows of 10 s; goal at most 1 %%: "
      "%s\n",
      kMetrics * kRulesPerMetric, kMetrics * kSeries, median_ns / 1e6, costs.front() / 1e6, costs.back() / 1e6, kWindows, share,
      share <= 1 ? "met" : "missed");
}
