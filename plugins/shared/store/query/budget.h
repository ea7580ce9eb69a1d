// SPDX-License-Identifier: Apache-2.0
// The limits of one request, with all its queries.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

class Budget {
 public:
  explicit Budget(const Limits &limits);

  // Counts points that are kept in memory until `release`. Throws TooMuch.
  void reserve(size_t points) {
    reserved_ += points;
    if (reserved_ > limits_.points) too_many();
  }
  void release(size_t points) { reserved_ -= points; }
  // Counts calculation steps and checks the time limit periodically. Throws TooMuch, or Cancelled.
  void work(size_t steps) {
    constexpr size_t kStepsBetweenChecks = 16384;
    steps_ += steps;
    if (steps_ < kStepsBetweenChecks) return;
    steps_ = 0;
    check_time();
  }
  void check_time() const;
  // A budget for a part: the same deadline, and its own points.
  Budget part(size_t points) const;
  // A budget for an optional part: half of the remaining points and time.
  Budget half() const;

  const Limits &limits() const { return limits_; }

 private:
  Budget(const Limits &limits, int64_t deadline) : limits_(limits), deadline_(deadline) {}
  [[noreturn]] void too_many() const;

  const Limits limits_;
  const int64_t deadline_;
  size_t reserved_ = 0, steps_ = 0;
};

// The number of points of a result.
inline size_t points_of(const Answer &answer) {
  return answer.points.size() + answer.counts.size();
}

// The end of an error about the number of series, which longer intervals do not reduce.
inline constexpr const char *kAskForFewerSeries =
    "; narrow the query with tags or a shorter time range, or raise --max-points: 20 points allow one series";
// The end of every other message of TooMuch.
inline constexpr const char *kAskForLess = "; ask for less: fewer metrics, more --tag, a shorter time, or a longer --every";

}  // namespace atalaya::query
