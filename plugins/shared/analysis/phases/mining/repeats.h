// SPDX-License-Identifier: Apache-2.0
// Exact repeats of a sequence of numbers, in nearly linear time, from its suffix array. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace atalaya::phases {

// The order of all suffixes. Throws std::length_error beyond 2^31 / 4 numbers.
std::vector<int32_t> suffix_array(std::span<const uint32_t> text);
// Element i: length of the common prefix of the suffixes i - 1 and i in this order; element 0: 0.
std::vector<int32_t> common_prefixes(std::span<const uint32_t> text, std::span<const int32_t> suffixes);

struct Repeat {
  uint32_t length = 0;  // 0: no prefix of the text from here occurs earlier
  uint32_t source = 0;  // the first earlier occurrence; it ends before this one begins
};
// LPnF: for each position the longest factor that occurs before without overlapping it.
std::vector<Repeat> longest_repeats(std::span<const uint32_t> text);

// A part of the text that repeats a root of `period` numbers at least twice.
struct Run {
  size_t begin = 0, end = 0;
  uint32_t period = 1;
  bool operator==(const Run &) const = default;
};
// Returns the runs that the non-overlapping repeats reveal, in order, without overlaps, with at least `minimum` numbers and a
// period of at most `longest`. Omits roots that contain at least `minimum` equal numbers in a row, because these numbers are a
// run.
std::vector<Run> exact_runs(std::span<const uint32_t> text, size_t minimum, size_t longest);

}  // namespace atalaya::phases
