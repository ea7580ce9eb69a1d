// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/report/parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/io/time/time_text.h"
#include "plugins/shared/io/units/unit_text.h"

namespace atalaya::report_command {
namespace {

using query::Usage;

std::string visible(const std::string &text) {
  std::string out;
  core::append_visible(out, text);
  return out;
}

using Words = std::string (*)(const std::string &);
using Number = std::string (*)(double);
using Unit = std::string (*)(std::string_view);
struct Texts {
  Words words;
  Number number;
  Unit unit;
};

bool has_partly(const Usages &usages) {
  return std::any_of(usages.parts.begin(), usages.parts.end(), [](const Part &part) {
    return std::any_of(part.usages.begin(), part.usages.end(), [](const Usage &usage) { return usage.coverage < 1; });
  });
}

command_line::Row head_of(const Usages &usages) {
  command_line::Row row = usages.keys;
  for (const char *name : {"metric", "sum", "of", "share %", "avg", "max", "min", "unit"}) row.emplace_back(name);
  if (has_partly(usages)) row.emplace_back("coverage");
  return row;
}

command_line::Row row_of(const Usages &usages, const Part &part, const Usage &usage, const Texts &texts) {
  command_line::Row row;
  for (const std::string &key : usages.keys) row.push_back(texts.words(cell(part, usage, key)));
  row.push_back(texts.words(usage.metric));
  row.push_back(texts.number(usage.sum));
  row.emplace_back(usage.sum_unit);
  const double share = share_of(part, usage.metric, usage.sum);
  row.push_back(std::isfinite(share) ? texts.number(share) : "");
  for (const double value : {usage.average, usage.max, usage.min}) row.push_back(texts.number(value));
  row.push_back(texts.unit(usage.unit));
  if (has_partly(usages)) row.push_back(command_line::rounded_text(std::round(usage.coverage * 1e4) / 1e4));
  return row;
}

// A bar of block characters for a share in %; 100 % has ten characters.
std::string bar_of(double share) {
  constexpr std::array<const char *, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!std::isfinite(share) || share <= 0) return "";
  const auto eighths = static_cast<size_t>(std::lround(std::min(share, 100.0) * 0.8));
  std::string bar;
  for (size_t i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

// Adds the rows below the last one of a metric: the sum of the rest, and the total.
void add_total(std::vector<command_line::Row> &rows, const Usages &usages, const Part &part, const Usage &last,
               const Texts &texts) {
  const auto found = part.totals.find(last.metric);
  if (found == part.totals.end() || usages.keys.empty()) return;
  const Total &total = found->second;
  Usage other = last;
  other.sum = total.other;
  other.average = other.max = other.min = std::nan("");
  using Row = std::pair<std::string, const Usage *>;
  for (const auto &[name, usage] : {Row{"other (" + std::to_string(total.others) + ")", &other}, Row{"total", &total.whole}}) {
    if (usage == &other && total.others == 0) continue;
    command_line::Row row = row_of(usages, part, *usage, texts);
    for (size_t i = 0; i < usages.keys.size(); ++i) row[i] = i == 0 ? name : "";
    row.push_back(bar_of(share_of(part, last.metric, usage->sum)));
    rows.push_back(std::move(row));
  }
}

// Unknown values are null.
void add_json(core::JsonObject &object, const Usages &usages, const Part &part, const Usage &usage) {
  for (const std::string &key : usages.keys) object.text(key, cell(part, usage, key));
  object.key("metric").text(usage.metric);
  object.key("sum").number(usage.sum);
  object.key("avg").number(usage.average);
  if (usage.coverage < 1) object.key("coverage").number(usage.coverage);
  object.key("max").number(usage.max);
  object.key("min").number(usage.min);
  object.key("share").number(share_of(part, usage.metric, usage.sum));
  object.key("sumUnit").text(usage.sum_unit);
  object.key("unit").text(usage.unit);
  object.key("from").text(io::time_text(part.range.from_ns));
  object.key("to").text(io::time_text(part.range.to_ns));
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

double share_of(const Part &part, std::string_view metric, double sum) {
  const auto found = part.totals.find(metric);
  const double whole = found == part.totals.end() ? 0 : found->second.whole.sum;
  return whole > 0 ? 100 * sum / whole : std::nan("");
}

std::string as_table(const Usages &usages) {
  const Texts texts{visible, shown, io::shown_unit};
  std::vector<command_line::Row> rows = {head_of(usages)};
  rows[0].emplace_back("");
  for (const Part &part : usages.parts) {
    for (size_t i = 0; i < part.usages.size(); ++i) {
      const Usage &usage = part.usages[i];
      rows.push_back(row_of(usages, part, usage, texts));
      rows.back().push_back(bar_of(share_of(part, usage.metric, usage.sum)));
      if (i + 1 == part.usages.size() || part.usages[i + 1].metric != usage.metric) add_total(rows, usages, part, usage, texts);
    }
  }
  return command_line::as_columns(rows);
}

std::string as_csv(const Usages &usages) {
  const Texts texts{[](const std::string &text) { return text; },
                    [](double value) { return std::isfinite(value) ? command_line::rounded_text(value) : ""; },
                    [](std::string_view unit) { return std::string(unit); }};
  std::vector<command_line::Row> rows = {head_of(usages)};
  for (const Part &part : usages.parts)
    for (const Usage &usage : part.usages) rows.push_back(row_of(usages, part, usage, texts));
  return command_line::as_csv_rows(rows);
}

std::string as_json(const Usages &usages) {
  core::JsonWriter out;
  out.list();
  for (const Part &part : usages.parts) {
    for (const Usage &usage : part.usages) {
      core::JsonObject object(out);
      add_json(object, usages, part, usage);
    }
  }
  return out.end_list().take() + '\n';
}

}  // namespace atalaya::report_command
