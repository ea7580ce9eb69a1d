// SPDX-License-Identifier: Apache-2.0
// A store with a sample per window, the same with merged ones, and a table of seconds, which is the oracle of both.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/store/query/memory_store.h"

namespace atalaya::query::test {

inline constexpr int kEnd = 900;
inline constexpr const char *kMemory = "proc.mem.resident";

using Window = MemoryStore::Window;
using Seconds = std::vector<std::optional<double>>;  // [s]: the value in (s - 1, s]

// Memory of processes that live, pause and change at random: a sample per window in `each`, merged ones in `merged`.
struct RestingWorld {
  explicit RestingWorld(unsigned seed) : random(seed), step(any(1, 10)), rest(step * any(1, 300 / step)) {
    for (int pid = 0; pid < 12; ++pid) add(pid);
    // The newest sample of all: no interval before it is shortened.
    add_both({{"process", "other"}, {"pid", "99"}}, {{kEnd, step, 1}}, {{kEnd, step, 1}});
  }
  int any(int from, int to) { return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1)); }

  void add_both(const Tags &tags, const std::vector<Window> &windows, const std::vector<Window> &joined) {
    each.add_windows(kMemory, tags, windows);
    merged.add_windows(kMemory, tags, joined);
    Seconds &seconds = of[tags.at("process")][tags.at("pid")];
    seconds.resize(kEnd + 1);
    for (const Window &window : windows)
      for (int s = window.end - window.length + 1; s <= window.end; ++s) seconds.at(static_cast<size_t>(s)) = window.value;
  }

  void add(int pid) {
    std::vector<Window> windows, joined;
    double value = any(1, 4096);
    const int born = any(0, kEnd / 2) / step * step, died = any(born / step + 1, kEnd / step) * step;
    for (int end = born + step; end <= died; end += step) {
      if (any(0, 40) == 0) continue;
      if (any(0, 12) == 0) value = any(1, 4096) / 4.0;
      windows.push_back({end, step, value});
      const bool goes_on =
          !joined.empty() && joined.back().end == end - step && joined.back().value == value && (end - step) % rest != 0;
      if (goes_on) {
        joined.back().end = end;
        joined.back().length += step;
      } else {
        joined.push_back({end, step, value});
      }
    }
    if (!windows.empty()) add_both({{"process", "p" + std::to_string(any(0, 2))}, {"pid", std::to_string(pid)}}, windows, joined);
  }

  std::mt19937 random;
  const int step, rest;
  MemoryStore each, merged;
  std::map<std::string, std::map<std::string, Seconds>> of;  // by process and pid
};

// The known values of the seconds in (from, to].
inline std::vector<double> between(const Seconds &seconds, int from, int to) {
  std::vector<double> known;
  for (int s = from + 1; s <= to; ++s)
    if (const auto &value = seconds.at(static_cast<size_t>(s))) known.push_back(*value);
  return known;
}

inline double sum_of(const std::vector<double> &values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// `length`: of the interval, for a value without a function.
inline double value_of(const std::string &function, const std::vector<double> &known, int length) {
  if (function == "min") return *std::min_element(known.begin(), known.end());
  if (function == "max") return *std::max_element(known.begin(), known.end());
  if (function == "first") return known.front();
  if (function == "last") return known.back();
  return sum_of(known) / (function == "avg" ? static_cast<double>(known.size()) : length);
}

}  // namespace atalaya::query::test
