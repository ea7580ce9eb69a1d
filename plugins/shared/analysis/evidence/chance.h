// SPDX-License-Identifier: Apache-2.0
// Tests whether two samples differ by more than chance.
#pragma once

#include <span>

namespace atalaya::evidence {

// Two-sided probability that values of one distribution, divided at random, differ as these two groups do. The smaller one of two
// exact tests, times 2: the rank sum (most values moved), and the number of values beyond all values of `before` (some values moved
// far). At most 64 values per group.
double chance_of(std::span<const double> before, std::span<const double> after);

// Two-sided probability that one more value of the distribution of `others` is as far from their mean as this one is: Student's t,
// for values that are distributed normally. 1 for less than two others.
double one_more_chance(std::span<const double> others, double value);

// The largest value minus the smallest, without one value at each end: a single peak does not count. 0 for less than four values.
double inner_range(std::span<const double> values);

}  // namespace atalaya::evidence
