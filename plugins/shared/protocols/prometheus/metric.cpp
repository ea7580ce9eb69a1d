// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/prometheus/metric.h"

#include <utility>

#include "plugins/shared/io/units/unit_text.h"
#include "plugins/shared/protocols/prometheus/legal_text.h"

namespace atalaya::prometheus {
namespace {

constexpr std::string_view kTotal = "_total";

// OpenMetrics' base units.
constexpr std::pair<std::string_view, std::string_view> kUnits[] = {
    {"By", "bytes"}, {"s", "seconds"}, {"Cel", "celsius"}, {"J", "joules"},
    {"W", "watts"},  {"V", "volts"},   {"A", "amperes"},   {"Hz", "hertz"},
};

// A unit has to be the last word of the name.
std::string unit_of(std::string_view family, std::string_view ucum) {
  for (const auto &[unit, word] : kUnits) {
    if (unit != ucum || !family.ends_with(word)) continue;
    family.remove_suffix(word.size());
    if (family.ends_with('_')) return std::string(word);
  }
  return "";
}

std::string help_of(std::string_view name, const std::optional<MetricInfo> &info) {
  std::string help = info ? std::string(info->summary) : "";
  while (help.ends_with('.')) help.pop_back();
  if (help.empty()) return "Atalaya's metric " + std::string(name);
  const std::string unit = io::shown_unit(info->unit);
  if (!unit.empty()) help += ", in " + unit;
  return help + "; Atalaya's metric " + std::string(name);
}

}  // namespace

Metric describe(std::string_view name, const std::optional<MetricInfo> &info) {
  Metric metric{.original = std::string(name), .family = legal_metric(name), .help = help_of(name, info)};
  if (info) metric.type = info->kind == ATALAYA_TOTAL ? Type::counter : Type::gauge;
  if (metric.type == Type::counter && metric.family.ends_with(kTotal)) metric.family.resize(metric.family.size() - kTotal.size());
  if (info) metric.unit = unit_of(metric.family, info->unit);
  return metric;
}

bool ExposedNames::claim(const Metric &metric) {
  std::vector<std::string> claims{metric.family};
  if (metric.type == Type::counter) claims.push_back(metric.family + std::string(kTotal));
  const std::lock_guard lock(mutex_);
  for (const std::string &claim : claims) {
    const auto owner = owners_.find(claim);
    if (owner == owners_.end() || owner->second == metric.original) continue;
    if (refused_.insert(metric.original).second) new_collisions_.emplace_back(metric.original, owner->second);
    return false;
  }
  for (const std::string &claim : claims) owners_.emplace(claim, metric.original);
  return true;
}

ExposedNames::Collisions ExposedNames::collisions() {
  const std::lock_guard lock(mutex_);
  return std::exchange(new_collisions_, {});
}

}  // namespace atalaya::prometheus
