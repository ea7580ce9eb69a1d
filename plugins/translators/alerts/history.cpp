// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/alerts/history.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "plugins/shared/analysis/evidence/statistics.h"

namespace atalaya::alerts {

void History::add(const Rule &rule, int64_t time_ns, double value) {
  if (used_ > 0 && time_ns <= slot(0).last_ns) return;
  // A decrease of a counter is a reset.
  const bool is_reset = rule.use == Use::rate && !rule.is_level && used_ > 0 && value < slot(0).last;
  if (is_reset) used_ = 0;
  if (used_ == 0) first_ns_ = time_ns;
  const int64_t length_ns = std::max<int64_t>(rule.over_ns / static_cast<int64_t>(kSlots - 1), 1);
  const int64_t begin_ns = time_ns / length_ns * length_ns;
  if (used_ == 0 || slot(0).begin_ns != begin_ns) {
    slots_[next_] = Slot{begin_ns, time_ns, time_ns, 0, value, value, value, 0};
    next_ = (next_ + 1) % kSlots;
    used_ = std::min(used_ + 1, kSlots);
  }
  Slot &newest = slots_[(next_ + kSlots - 1) % kSlots];
  newest.sum += value;
  newest.max = std::max(newest.max, value);
  newest.last = value;
  newest.last_ns = time_ns;
  ++newest.count;
}

size_t History::later_than(int64_t time_ns) const {
  size_t count = 0;
  while (count < used_ && slot(count).last_ns > time_ns) ++count;
  return count;
}

std::optional<double> History::number(const Rule &rule, int64_t time_ns, const Gaps &gaps) const {
  const size_t count = later_than(gaps.before(time_ns, rule.over_ns));
  if (count == 0) return std::nullopt;
  if (rule.use == Use::sum) return total(count);
  const bool is_short = gaps.collected(std::max(first_ns_, slot(count - 1).first_ns), slot(0).last_ns) < rule.over_ns / 2;
  if (is_short) return std::nullopt;
  if (rule.use == Use::rate) return rate(count);
  if (rule.use == Use::forecast) return forecast(rule, count, time_ns);
  if (rule.use == Use::anomaly) return anomaly(count);
  double sum = 0, max = slot(0).max;
  size_t values = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += slot(i).sum;
    values += slot(i).count;
    max = std::max(max, slot(i).max);
  }
  return rule.use == Use::max ? max : sum / static_cast<double>(values);
}

double History::total(size_t count) const {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += slot(i).sum;
  return sum;
}

std::optional<double> History::rate(size_t count) const {
  const Slot &newest = slot(0), &oldest = slot(count - 1);
  if (newest.last_ns <= oldest.first_ns) return std::nullopt;
  return (newest.last - oldest.first) * 1e9 / static_cast<double>(newest.last_ns - oldest.first_ns);
}

// Linear regression (least squares) through the means of the slots.
std::optional<double> History::forecast(const Rule &rule, size_t count, int64_t time_ns) const {
  if (count < 3) return std::nullopt;
  double times = 0, values = 0;
  const auto seconds = [&](const Slot &one) { return static_cast<double>(one.first_ns + one.last_ns - 2 * time_ns) / 2e9; };
  for (size_t i = 0; i < count; ++i) {
    times += seconds(slot(i));
    values += slot(i).mean();
  }
  const double n = static_cast<double>(count), mean_time = times / n, mean_value = values / n;
  double covariance = 0, variance = 0;
  for (size_t i = 0; i < count; ++i) {
    const double distance = seconds(slot(i)) - mean_time;
    covariance += distance * (slot(i).mean() - mean_value);
    variance += distance * distance;
  }
  if (variance <= 0) return std::nullopt;
  return mean_value + covariance / variance * (static_cast<double>(rule.ahead_ns) / 1e9 - mean_time);
}

// The distance of the newest slot from the median of the others, divided by their median absolute deviation. The deviation is at
// least 1 % of the median, so that small changes of an almost constant series are no anomaly.
std::optional<double> History::anomaly(size_t count) const {
  constexpr size_t kMinValues = 8;
  if (count < kMinValues) return std::nullopt;
  std::vector<double> values;
  for (size_t i = 1; i < count; ++i) values.push_back(slot(i).mean());
  const double usual = evidence::at_rank(values, values.size() / 2);
  for (double &value : values) value = std::abs(value - usual);
  const double distance = std::max(evidence::at_rank(values, values.size() / 2), std::abs(usual) / 100);
  return distance > 0 ? std::abs(slot(0).mean() - usual) / distance : 0;
}

}  // namespace atalaya::alerts
