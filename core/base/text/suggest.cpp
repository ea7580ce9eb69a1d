// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/suggest.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/base/text/text.h"

namespace atalaya::core {
namespace {

constexpr size_t kLongest = 64;  // characters of a compared name

bool same(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Optimal string alignment distance (restricted Damerau-Levenshtein). A transposition refers to the row before the previous one,
// so three rows are stored.
size_t distance(std::string_view a, std::string_view b) {
  using Row = std::array<size_t, kLongest + 1>;
  Row before{};
  Row last{};
  Row now{};
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    last = now;
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string> &known) {
  if (name.empty() || name.size() > kLongest) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const auto &candidate : known) {
    if (candidate.size() > kLongest) continue;
    const size_t d = distance(name, candidate);
    if (d >= best_distance || d >= candidate.size()) continue;
    best = candidate;
    best_distance = d;
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string> &known) {
  const std::string near = nearest(name, known);
  return near.empty() ? "" : "; did you mean " + in_quotes(near) + "?";
}

}  // namespace atalaya::core
