// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/command_line/render.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>

#include "core/base/text/json.h"
#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"
#include "plugins/shared/io/time/time_text.h"
#include "plugins/shared/io/units/unit_text.h"

namespace atalaya::command_line {
namespace {

std::string value_text(const query::Answer &answer, const query::Point &point) {
  std::string text;
  if (std::isfinite(point.value)) append_value(text, answer, point);  // a sum that overflowed is not printed
  return text;
}

void append_csv(std::string &out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  out += '"';
}

std::vector<std::string> tag_keys(const std::vector<query::Answer> &answers) {
  std::set<std::string> keys;
  for (const query::Answer &answer : answers)
    for (const auto &tag : answer.tags) keys.insert(tag.first);
  return {keys.begin(), keys.end()};
}

// Whether the cell is a number or empty: an empty cell does not make its column a text column.
bool is_number(const std::string &text) {
  return text.find_first_not_of("0123456789.-+e") == std::string::npos;
}

std::string shown_value(const query::Answer &answer, const query::Point &point) {
  if (!std::isfinite(point.value)) return "-";
  return answer.counts.empty() ? rounded_text(point.value) : value_text(answer, point);
}

bool has_partly(const std::vector<query::Answer> &answers) {
  return std::any_of(answers.begin(), answers.end(), [](const query::Answer &answer) { return !answer.partly.empty(); });
}

double part_of(const query::Answer &answer, const query::Point &point) {
  const auto found = std::lower_bound(answer.partly.begin(), answer.partly.end(), point.time_ns,
                                      [](const query::Covered &one, int64_t time_ns) { return one.time_ns < time_ns; });
  return found != answer.partly.end() && found->time_ns == point.time_ns ? found->part : 1;
}

// Four digits: the lengths of windows are known to a millisecond.
std::string part_text(double part) {
  return rounded_text(std::round(part * 1e4) / 1e4);
}

std::string unit_of(const query::Answer &answer) {
  return answer.info ? answer.info->unit : "";
}

std::string with_unit(const query::Answer &answer) {
  const std::string unit = io::shown_unit(unit_of(answer));
  std::string text;
  core::append_visible(text, answer.metric);
  return unit.empty() ? text : text + " (" + unit + ")";
}

}  // namespace

std::string tags_text(const query::Tags &tags) {
  std::string text;
  for (const auto &[key, value] : tags) {
    if (!text.empty()) text += ',';
    core::append_visible(text, key);
    text += '=';
    core::append_visible(text, value);
  }
  return text;
}

query::Tags common_tags(const std::vector<query::Answer> &answers) {
  if (answers.empty()) return {};
  store::Tags common = answers.front().tags;
  for (const query::Answer &answer : answers)
    std::erase_if(common, [&](const auto &tag) {
      const auto own = answer.tags.find(tag.first);
      return own == answer.tags.end() || own->second != tag.second;
    });
  return common;
}

std::string label_of(const query::Answer &answer) {
  const std::string tags = tags_text(answer.tags);
  std::string label;
  core::append_visible(label, answer.metric);
  return tags.empty() ? label : label + "{" + tags + "}";
}

void write_info(core::JsonWriter &json, const store::MetricInfo *info) {
  if (info == nullptr || info->kind == store::Kind::unknown) return;
  json.key("kind").text(store::text_of(info->kind)).key("unit").text(info->unit);
  if (!info->summary.empty()) json.key("summary").text(info->summary);
}

void write_coverage(core::JsonWriter &json, const query::Answer &answer) {
  if (answer.coverage < 1) json.key("coverage").raw(part_text(answer.coverage));
  if (answer.partly.empty()) return;
  json.key("partly").list();
  for (const query::Covered &one : answer.partly) json.list().milliseconds(one.time_ns).raw(part_text(one.part)).end_list();
  json.end_list();
}

std::string as_json(const std::vector<query::Answer> &answers) {
  core::JsonWriter json;
  json.list();
  for (const query::Answer &answer : answers) {
    json.line().object().key("metric").text(answer.metric);
    write_info(json, answer.info.get());
    json.key("tags").members(answer.tags).key("aggregateTags").texts(answer.aggregated_tags);
    write_coverage(json, answer);
    json.key("dps").list();
    for (const query::Point &point : answer.points) {
      const std::string value = value_text(answer, point);
      json.list().milliseconds(point.time_ns).raw(value.empty() ? "null" : value).end_list();
    }
    json.end_list().end_object();
  }
  return json.end_list().take() + "\n";
}

std::string as_csv(const std::vector<query::Answer> &answers) {
  const std::vector<std::string> keys = tag_keys(answers);
  std::string out = "time,metric";
  for (const std::string &key : keys) append_csv(out += ',', key);
  const bool partly = has_partly(answers);
  out += partly ? ",value,unit,coverage\r\n" : ",value,unit\r\n";
  for (const query::Answer &answer : answers) {
    std::string series;
    append_csv(series += ',', answer.metric);
    for (const std::string &key : keys) {
      const auto found = answer.tags.find(key);
      append_csv(series += ',', found == answer.tags.end() ? "" : found->second);
    }
    std::string unit = ",";
    append_csv(unit, unit_of(answer));
    for (const query::Point &point : answer.points)
      out += io::time_text(point.time_ns) + series + "," + value_text(answer, point) + unit +
             (partly ? "," + part_text(part_of(answer, point)) : "") + "\r\n";
  }
  return out;
}

std::string as_table(const std::vector<query::Answer> &answers) {
  io::LocalTimes times;
  for (const query::Answer &answer : answers)
    for (const query::Point &point : answer.points) times.add(point.time_ns);
  const bool partly = has_partly(answers);
  std::vector<Row> rows = {{times.title("time"), "metric", "tags", "value"}};
  if (partly) rows[0].emplace_back("coverage");
  for (const query::Answer &answer : answers) {
    const std::string metric = with_unit(answer);
    const std::string tags = tags_text(answer.tags);
    for (const query::Point &point : answer.points) {
      rows.push_back({times.text(point.time_ns), metric, tags, shown_value(answer, point)});
      if (partly) rows.back().push_back(part_text(part_of(answer, point)));
    }
  }
  return as_columns(rows);
}

void append_value(std::string &out, const query::Answer &answer, const query::Point &point) {
  const auto count = std::lower_bound(answer.counts.begin(), answer.counts.end(), point.time_ns,
                                      [](const query::Count &one, int64_t time_ns) { return one.time_ns < time_ns; });
  if (count != answer.counts.end() && count->time_ns == point.time_ns) return core::append_integer(out, count->value);
  core::append_number(out, point.value);
}

std::string xml_text(std::string_view text) {
  std::string visible;
  core::append_visible(visible, text);
  std::string out;
  for (const char c : visible) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string svg_head(int width, int height) {
  const std::string wide = std::to_string(width), high = std::to_string(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"" + wide + "\" height=\"" + high + "\" viewBox=\"0 0 " +
         wide + " " + high +
         "\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"11\">\n"
         "<rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
         "<style>@media (prefers-color-scheme:dark){.chart .paper{fill:#16181c}.chart text:not(.own){fill:#d6d9de}"
         ".chart .grid{stroke:#30343b}.chart .zero{stroke:#9aa0a8}.chart .reference{stroke:#fff}}</style>\n";
}

std::string rounded_text(double value) {
  std::array<char, 32> text{};
  const bool whole = std::fabs(value) < 1e17 && std::trunc(value) == value;
  std::snprintf(text.data(), text.size(), whole ? "%.0f" : "%.10g", value + 0.0);
  return text.data();
}

std::string as_columns(const std::vector<Row> &rows) {
  std::vector<size_t> widths(rows.front().size());
  std::vector<bool> numbers(rows.front().size(), rows.size() > 1);
  for (const Row &row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], core::display_width(row[i]));
      if (&row != &rows.front()) numbers[i] = numbers[i] && is_number(row[i]);
    }
  }
  std::string text;
  for (const Row &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string room(widths[i] - core::display_width(row[i]), ' ');
      line += (i > 0 ? "  " : "") + (numbers[i] ? room + row[i] : row[i] + room);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string as_csv_rows(const std::vector<Row> &rows) {
  std::string out;
  for (const Row &row : rows) {
    for (size_t i = 0; i < row.size(); ++i) append_csv(i > 0 ? out += ',' : out, row[i]);
    out += "\r\n";
  }
  return out;
}

}  // namespace atalaya::command_line
