// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/report/parts.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/base/json.h"
#include "core/base/safe_text.h"
#include "plugins/shared/analysis/query/render.h"
#include "plugins/shared/analysis/query/time_text.h"
#include "plugins/shared/units/unit_text.h"

namespace atalaya::report_command {
namespace {

using query::Usage;

std::string visible(const std::string &text) {
  std::string out;
  core::append_visible(out, text);
  return out;
}

std::vector<query::Row> rows_of(const Usages &usages, std::string (*text)(const std::string &), std::string (*number)(double),
                                std::string (*unit)(std::string_view)) {
  std::vector<query::Row> rows = {usages.keys};
  for (const char *name : {"metric", "sum", "of", "avg", "max", "min", "unit"}) rows[0].emplace_back(name);
  for (const Part &part : usages.parts) {
    for (const Usage &usage : part.usages) {
      query::Row row;
      for (const std::string &key : usages.keys) row.push_back(text(cell(part, usage, key)));
      row.push_back(text(usage.metric));
      row.push_back(number(usage.sum));
      row.emplace_back(usage.sum_unit);
      for (const double value : {usage.average, usage.max, usage.min}) row.push_back(number(value));
      row.push_back(unit(usage.unit));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

void append_finite(std::string &out, double value) {
  if (std::isfinite(value))
    core::append_number(out, value);
  else
    out += "null";
}

void append_json(std::string &out, const Usages &usages, const Part &part, const Usage &usage) {
  out += '{';
  for (const std::string &key : usages.keys) {
    if (const std::string value = cell(part, usage, key); !value.empty()) {
      core::append_json_string(out, key);
      core::append_json_string(out += ':', value);
      out += ',';
    }
  }
  core::append_json_string(out += "\"metric\":", usage.metric);
  for (const auto &[name, value] : {std::pair{"sum", usage.sum}, {"avg", usage.average}, {"max", usage.max}, {"min", usage.min}})
    append_finite(out += ",\"" + std::string(name) + "\":", value);
  core::append_json_string(out += ",\"sumUnit\":", usage.sum_unit);
  core::append_json_string(out += ",\"unit\":", usage.unit);
  out += ",\"from\":\"" + query::time_text(part.range.from_ns) + "\",\"to\":\"" + query::time_text(part.range.to_ns) + "\"}";
}

}  // namespace

std::string cell(const Part &part, const Usage &usage, const std::string &key) {
  for (const query::Tags *tags : {&part.tags, &usage.tags})
    if (const auto found = tags->find(key); found != tags->end()) return found->second;
  return "";
}

std::string shown(double value) {
  if (!std::isfinite(value)) return "";
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), value > -1e15 && value < 1e15 ? "%.3f" : "%.6g", value);
  return text.data();
}

std::string as_table(const Usages &usages) {
  return query::as_columns(rows_of(usages, visible, shown, core::shown_unit));
}

std::string as_csv(const Usages &usages) {
  const auto number = [](double value) { return std::isfinite(value) ? query::rounded_text(value) : ""; };
  return query::as_csv_rows(rows_of(
      usages, [](const std::string &text) { return text; }, number, [](std::string_view unit) { return std::string(unit); }));
}

std::string as_json(const Usages &usages) {
  std::string out = "[";
  for (const Part &part : usages.parts)
    for (const Usage &usage : part.usages) append_json(out.size() > 1 ? out += ",\n" : out, usages, part, usage);
  return out + "]\n";
}

}  // namespace atalaya::report_command
