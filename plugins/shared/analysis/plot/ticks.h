// SPDX-License-Identifier: Apache-2.0
// Selects round numbers and times for axes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace atalaya::plot {

struct Scale {
  double low = 0, high = 1, step = 1;  // multiples of the step
};
// Returns a scale with about `count` steps of 1, 2 or 5 times a power of ten that covers low to high; it includes 0 if 0 is near.
Scale scale_of(double low, double high, int count);
// Returns the values of the scale's steps, ascending.
std::vector<double> marks(const Scale &scale);
// Formats a value with the decimals that the step needs.
std::string tick_text(double value, double step);

struct TimeTick {
  int64_t time_ns = 0;
  std::string text;  // local: "10:05", "10:05:30", "21 Nov"
};
// Returns at most `count` ticks at round local times within (from, to].
std::vector<TimeTick> time_ticks(int64_t from_ns, int64_t to_ns, int count);
// Formats the range of the axis: "2026-11-21 10:00:00 to 11:00:00 UTC+01:00".
std::string time_title(int64_t from_ns, int64_t to_ns);

// Returns a round interval that divides the range into at most `points` points.
int64_t round_interval(int64_t range_ns, int64_t points);

}  // namespace atalaya::plot
