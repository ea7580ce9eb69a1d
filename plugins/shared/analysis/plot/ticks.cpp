// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/plot/ticks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "plugins/shared/io/time/time_text.h"

namespace atalaya::plot {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kDay = 86'400;
constexpr std::array<int64_t, 24> kSteps = {1,     2,    5,        10,       15,        30,        60,        120,
                                            300,   600,  900,      1800,     3600,      7200,      10800,     21600,
                                            43200, kDay, 2 * kDay, 7 * kDay, 14 * kDay, 30 * kDay, 90 * kDay, 365 * kDay};

std::tm local(int64_t seconds) {
  const time_t time = seconds;
  std::tm date{};
  localtime_r(&time, &date);
  return date;
}

std::string formatted(const char *format, const std::tm &date) {
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), format, &date);
  return text.data();
}

std::string text_of(int64_t seconds, int64_t step) {
  const std::tm date = local(seconds);
  if (step >= kDay) return formatted("%d %b", date);
  if (date.tm_hour == 0 && date.tm_min == 0 && date.tm_sec == 0) return formatted("%d %b", date);
  return formatted(step < 60 ? "%H:%M:%S" : "%H:%M", date);
}

}  // namespace

Scale scale_of(double low, double high, int count) {
  if (!(low <= high)) low = high = 0;
  // An axis that does not start at 0 exaggerates small changes.
  if (low > 0 && low < high / 2 + 1e-12) low = 0;
  if (low == high) (low > 0 ? low : high) = low > 0 ? 0 : low == 0 ? 1 : 0;
  const double rough = (high - low) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power < rough) continue;
    step = factor * power;
    break;
  }
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, step};
}

std::vector<double> marks(const Scale &scale) {
  std::vector<double> values;
  const auto steps = static_cast<int>(std::lround((scale.high - scale.low) / scale.step));
  values.reserve(static_cast<size_t>(steps) + 1);
  for (int i = 0; i <= steps; ++i) values.push_back(scale.low + i * scale.step);
  return values;
}

std::string tick_text(double value, double step) {
  std::array<char, 64> text{};
  if (step >= 1e6 || step < 1e-6) {
    const double digits = value == 0 ? 1 : std::floor(std::log10(std::fabs(value))) - std::floor(std::log10(step)) + 1;
    std::snprintf(text.data(), text.size(), "%.*g", static_cast<int>(std::clamp(digits, 1.0, 17.0)), value);
    return text.data();
  }
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value + 0.0);
  return text.data();
}

std::vector<TimeTick> time_ticks(int64_t from_ns, int64_t to_ns, int count) {
  const int64_t from = from_ns / kSecond;
  const int64_t to = to_ns / kSecond;
  int64_t step = kSteps.back();
  for (auto known = kSteps.rbegin(); known != kSteps.rend(); ++known)
    if ((to - from) / *known <= count) step = *known;
  const int64_t offset = local(from).tm_gmtoff;
  std::vector<TimeTick> ticks;
  for (int64_t time = (from + offset) / step * step + step - offset; time <= to && ticks.size() < 1000; time += step)
    ticks.push_back({time * kSecond, text_of(time, step)});
  return ticks;
}

std::string time_title(int64_t from_ns, int64_t to_ns) {
  const std::tm from = local(from_ns / kSecond);
  const std::tm to = local(to_ns / kSecond);
  const bool same_day = from.tm_yday == to.tm_yday && from.tm_year == to.tm_year;
  const std::string zone = io::zone_text(from_ns), last_zone = io::zone_text(to_ns);
  return formatted("%Y-%m-%d %H:%M:%S", from) + (zone == last_zone ? "" : " " + zone) + " to " +
         formatted(same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", to) + " " + last_zone;
}

int64_t round_interval(int64_t range_ns, int64_t points) {
  const int64_t wanted = range_ns / kSecond / std::max<int64_t>(points, 1);
  for (const int64_t step : kSteps)
    if (step >= wanted) return step * kSecond;
  return kSteps.back() * kSecond;
}

}  // namespace atalaya::plot
