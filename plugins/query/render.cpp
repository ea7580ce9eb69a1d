// SPDX-License-Identifier: Apache-2.0
#include "plugins/query/render.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>

#include "core/sample/json.h"
#include "core/sample/text.h"
#include "plugins/query/metric_info.h"
#include "plugins/query/time_text.h"

namespace atalaya::query {
namespace {

std::string value_text(double value) {
  std::string text;
  if (!std::isnan(value)) core::append_number(text, value);
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

std::string tags_text(const Tags &tags) {
  std::string text;
  for (const auto &[key, value] : tags) {
    if (!text.empty()) text += ',';
    core::append_visible(text, key);
    text += '=';
    core::append_visible(text, value);
  }
  return text;
}

std::vector<std::string> tag_keys(const std::vector<Answer> &answers) {
  std::set<std::string> keys;
  for (const Answer &answer : answers)
    for (const auto &tag : answer.tags) keys.insert(tag.first);
  return {keys.begin(), keys.end()};
}

// Or nothing: an empty cell does not make a column one of texts.
bool is_number(const std::string &text) {
  return text.find_first_not_of("0123456789.-+einf") == std::string::npos;
}

std::string with_unit(const std::string &metric) {
  const std::string_view unit = metric_info(metric).unit;
  std::string text;
  core::append_visible(text, metric);
  return unit.empty() || unit == "1" ? text : text + " (" + std::string(unit) + ")";
}

}  // namespace

std::string label_of(const Answer &answer) {
  const std::string tags = tags_text(answer.tags);
  std::string label;
  core::append_visible(label, answer.metric);
  return tags.empty() ? label : label + "{" + tags + "}";
}

std::string as_json(const std::vector<Answer> &answers) {
  std::string out = "[";
  for (const Answer &answer : answers) {
    out += out.size() > 1 ? ",\n{\"metric\":" : "{\"metric\":";
    core::append_json_string(out, answer.metric);
    out += ",\"tags\":{";
    const char *comma = "";
    for (const auto &[key, value] : answer.tags) {
      out += comma;
      core::append_json_string(out, key);
      out += ':';
      core::append_json_string(out, value);
      comma = ",";
    }
    out += "},\"aggregateTags\":[";
    comma = "";
    for (const std::string &key : answer.aggregated_tags) {
      out += comma;
      core::append_json_string(out, key);
      comma = ",";
    }
    out += "],\"dps\":[";
    comma = "";
    for (const Point &point : answer.points) {
      out += comma;
      out += '[';
      core::append_integer(out, point.time_ns / 1'000'000);
      out += ',';
      const std::string value = value_text(point.value);
      out += value.empty() ? "null" : value;
      out += ']';
      comma = ",";
    }
    out += "]}";
  }
  return out + "]\n";
}

std::string as_csv(const std::vector<Answer> &answers) {
  const std::vector<std::string> keys = tag_keys(answers);
  std::string out = "time,metric";
  for (const std::string &key : keys) append_csv(out += ',', key);
  out += ",value\r\n";
  for (const Answer &answer : answers) {
    std::string series;
    append_csv(series += ',', answer.metric);
    for (const std::string &key : keys) {
      const auto found = answer.tags.find(key);
      append_csv(series += ',', found == answer.tags.end() ? "" : found->second);
    }
    for (const Point &point : answer.points) out += time_text(point.time_ns) + series + "," + value_text(point.value) + "\r\n";
  }
  return out;
}

std::string as_table(const std::vector<Answer> &answers) {
  std::vector<Row> rows = {{"time", "metric", "tags", "value"}};
  for (const Answer &answer : answers) {
    const std::string metric = with_unit(answer.metric);
    const std::string tags = tags_text(answer.tags);
    for (const Point &point : answer.points)
      rows.push_back({time_text(point.time_ns), metric, tags, std::isnan(point.value) ? "-" : rounded_text(point.value)});
  }
  return as_columns(rows);
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

std::string rounded_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.10g", value);
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

}  // namespace atalaya::query
