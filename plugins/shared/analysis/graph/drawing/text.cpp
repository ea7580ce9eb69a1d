// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/drawing/text.h"

#include <array>
#include <cstddef>
#include <cstdio>

namespace atalaya::graph {

std::string bytes_text(double bytes) {
  constexpr std::array<const char *, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1023.95 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return short_number(bytes, unit == 0 || bytes >= 99.95 ? 0 : 1) + " " + kUnits[unit];
}

std::string short_number(double value, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

}  // namespace atalaya::graph
