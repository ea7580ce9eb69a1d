// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/plot/axis_unit.h"

#include <array>
#include <optional>
#include <string_view>

namespace atalaya::plot {
namespace {

constexpr std::array<std::string_view, 6> kPrefixes = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
constexpr double kStep = 1024;

struct Binary {
  double factor = 1;
  std::string base;  // "B", "bit", "B/s"
};

std::optional<Binary> binary_of(std::string_view unit) {
  double factor = 1;
  for (const std::string_view prefix : kPrefixes) {
    if (unit.starts_with(prefix)) {
      const std::string_view base = unit.substr(prefix.size());
      const std::string_view amount = base.substr(0, base.find('/'));
      if (amount == "B" || amount == "bit") return Binary{factor, std::string(base)};
    }
    factor *= kStep;
  }
  return std::nullopt;
}

}  // namespace

std::string dimension_of(const std::string &unit) {
  const auto binary = binary_of(unit);
  return binary ? binary->base : unit;
}

double base_factor(const std::string &unit) {
  const auto binary = binary_of(unit);
  return binary ? binary->factor : 1;
}

AxisUnit axis_unit(const std::string &unit, double largest) {
  const auto binary = binary_of(unit);
  if (!binary) return {unit, 1};
  if (!(largest > 0)) return {unit, binary->factor};
  double factor = 1;
  size_t prefix = 0;
  for (; prefix + 1 < kPrefixes.size() && largest >= factor * kStep; ++prefix) factor *= kStep;
  return {std::string(kPrefixes[prefix]) + binary->base, factor};
}

}  // namespace atalaya::plot
