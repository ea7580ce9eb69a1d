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

}  // namespace atalaya::prometheus
