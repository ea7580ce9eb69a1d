// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/report/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"
#include "plugins/commands/report/parts.h"
#include "plugins/shared/analysis/command_line/render.h"

namespace atalaya::report_command {
namespace {

using Rows = std::map<query::Tags, Difference>;

void add_side(std::map<std::string, Rows> &metrics, const Side &side, double Difference::*sum) {
  for (const query::Usage &usage : side.usages) {
    Difference &row = metrics[usage.metric][usage.tags];
    row.tags = usage.tags;
    row.metric = usage.metric;
    row.unit = usage.sum_unit;
    row.*sum += usage.sum;
  }
}

void add_metric(std::vector<Difference> &out, const Rows &rows, bool has_keys, size_t top) {
  std::vector<Difference> sorted;
  Difference total;
  total.total = true;
  for (const auto &[tags, row] : rows) {
    total.metric = row.metric;
    total.unit = row.unit;
    total.first += row.first;
    total.second += row.second;
    sorted.push_back(row);
  }
  const auto size = [](const Difference &row) { return std::max(row.first, row.second); };
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Difference &a, const Difference &b) { return size(a) > size(b); });
  sorted.resize(std::min(sorted.size(), top));
  out.insert(out.end(), sorted.begin(), sorted.end());
  if (has_keys) out.push_back(total);
}

std::string tag_of(const Difference &row, const std::string &key) {
  const auto found = row.tags.find(key);
  return found == row.tags.end() ? "" : found->second;
}

std::string optional_text(double value, std::string (*text)(double)) {
  return std::isfinite(value) ? text(value) : "";
}

command_line::Row head_of(const Comparison &comparison) {
  command_line::Row row = comparison.keys;
  for (const std::string &name : {std::string("metric"), comparison.first.name, comparison.second.name, std::string("difference"),
                                  std::string("%"), std::string("of")})
    row.push_back(name);
  return row;
}

std::vector<command_line::Row> rows_of(const Comparison &comparison, bool totals, std::string (*number)(double)) {
  std::vector<command_line::Row> rows = {head_of(comparison)};
  for (const Difference &one : comparison.rows) {
    if (one.total && !totals) continue;
    command_line::Row row;
    for (const std::string &key : comparison.keys) row.push_back(tag_of(one, key));
    if (one.total) row.front() = "total";
    row.push_back(one.metric);
    for (const double value : {one.first, one.second, one.change(), one.percent()}) row.push_back(optional_text(value, number));
    row.push_back(one.unit);
    rows.push_back(std::move(row));
  }
  return rows;
}

void add_side(core::JsonObject &all, std::string_view name, const Side &side) {
  core::JsonObject object(all.key(name));
  object.key("experiment").text(side.name);
  object.number("seconds", static_cast<double>(side.range.to_ns - side.range.from_ns) / 1e9);
}

// Unknown values are null.
void add_difference(core::JsonObject &object, const Difference &one) {
  object.key("metric").text(one.metric);
  object.members("tags", one.tags);
  object.key("a").number(one.first);
  object.key("b").number(one.second);
  object.key("difference").number(one.change());
  object.key("percent").number(one.percent());
  object.key("unit").text(one.unit);
}

}  // namespace

double Difference::percent() const {
  return first == 0 ? std::nan("") : 100 * change() / first;
}

Comparison compared(Side first, Side second, std::vector<std::string> keys, size_t top) {
  std::map<std::string, Rows> metrics;
  add_side(metrics, first, &Difference::first);
  add_side(metrics, second, &Difference::second);
  Comparison comparison{std::move(first), std::move(second), std::move(keys), {}};
  const auto seconds = [](const query::Range &range) { return static_cast<double>(range.to_ns - range.from_ns) / 1e9; };
  comparison.rows.push_back({{}, "duration", "s", seconds(comparison.first.range), seconds(comparison.second.range), false});
  for (const auto &[metric, rows] : metrics) add_metric(comparison.rows, rows, !comparison.keys.empty(), top);
  return comparison;
}

std::string as_table(const Comparison &comparison) {
  std::vector<command_line::Row> rows = rows_of(comparison, true, shown);
  for (command_line::Row &row : rows)
    for (std::string &cell : row) cell = core::visible(cell);
  return command_line::as_columns(rows);
}

std::string as_csv(const Comparison &comparison) {
  return command_line::as_csv_rows(rows_of(comparison, false, command_line::rounded_text));
}

std::string as_json(const Comparison &comparison) {
  core::JsonWriter out;
  {
    core::JsonObject all(out);
    add_side(all, "a", comparison.first);
    add_side(all, "b", comparison.second);
    all.list("rows", comparison.rows, [&](const Difference &one) {
      if (one.total) return;
      core::JsonObject row(out);
      add_difference(row, one);
    });
  }
  return out.take() + '\n';
}

}  // namespace atalaya::report_command
