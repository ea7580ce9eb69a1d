// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/influx/influx_reader.h"

#include <cmath>
#include <limits>

#include "plugins/shared/protocols/base/numbers.h"

namespace atalaya::protocols {
namespace {

constexpr size_t kMaxOfALine = 1024;  // tags or fields, as of a JSON document

// The text up to the first of these characters that has no backslash in front; removes it from `rest`.
std::string_view take_until(std::string_view &rest, std::string_view ends) {
  size_t at = 0;
  while (at < rest.size() && ends.find(rest[at]) == std::string_view::npos) at += rest[at] == '\\' && at + 1 < rest.size() ? 2 : 1;
  at = std::min(at, rest.size());
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at);
  return taken;
}

bool skip(std::string_view &rest, char wanted) {
  if (rest.empty() || rest.front() != wanted) return false;
  rest.remove_prefix(1);
  return true;
}

// Removes a text in quotes; false: it has no end.
bool skip_quoted(std::string_view &rest) {
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != '"') rest.remove_prefix(std::min<size_t>(rest.front() == '\\' ? 2 : 1, rest.size()));
  return skip(rest, '"');
}

std::optional<double> boolean(std::string_view text) {
  for (const char *name : {"t", "T", "true", "True", "TRUE"})
    if (text == name) return 1;
  for (const char *name : {"f", "F", "false", "False", "FALSE"})
    if (text == name) return 0;
  return std::nullopt;
}

// "12i", "12u", "1.5", "true". False: none of them, or not finite.
bool read_value(std::string_view text, RecordField &field) {
  if (const auto flag = boolean(text)) {
    field.type = ATALAYA_I64;
    field.i64 = static_cast<int64_t>(*flag);
    return true;
  }
  if (text.ends_with('i') || text.ends_with('u')) {
    const auto value = parse_integer(text.substr(0, text.size() - 1));
    if (!value || (text.back() == 'u' && *value < 0)) return false;
    field.type = ATALAYA_I64;
    field.i64 = *value;
    return true;
  }
  const auto value = parse_real(text);
  if (!value || !std::isfinite(*value)) return false;
  field.type = ATALAYA_F64;
  field.f64 = *value;
  return true;
}

}  // namespace

std::optional<int64_t> precision_from_name(std::string_view name) {
  constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"", 1},
      {"n", 1},
      {"ns", 1},
      {"u", 1'000},
      {"us", 1'000},
      {"ms", 1'000'000},
      {"s", 1'000'000'000},
      {"m", 60'000'000'000},
      {"h", 3'600'000'000'000},
  };
  for (const auto &[unit, length] : kUnits)
    if (unit == name) return length;
  return std::nullopt;
}

// Without backslashes before the characters that the protocol escapes.
std::string_view InfluxReader::plain(std::string_view text) {
  if (text.find('\\') == std::string_view::npos) return text;
  std::string &out = texts_.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && std::string_view(",= ").find(text[i + 1]) != std::string_view::npos) ++i;
    out += text[i];
  }
  return out;
}

std::string_view InfluxReader::joined(std::string_view measurement, std::string_view field) {
  if (field == "value") return measurement;
  return texts_.emplace_back(std::string(measurement).append(1, '.').append(field));
}

core::Status InfluxReader::add_tags(std::string_view &rest) {
  while (skip(rest, ',')) {
    const std::string_view key = plain(take_until(rest, ",= "));
    if (key.empty() || !skip(rest, '=')) return core::Error{"a tag is not KEY=VALUE"};
    const std::string_view value = plain(take_until(rest, ",= "));
    if (value.empty()) return core::Error{"the tag " + std::string(key) + " has no value"};
    if (record_.tags.size() == kMaxOfALine) return core::Error{"more than 1024 tags"};
    record_.tags.push_back({key, value});
  }
  return core::Done{};
}

core::Status InfluxReader::add_fields(std::string_view &rest, std::string_view measurement) {
  do {
    const std::string_view key = plain(take_until(rest, ",= "));
    if (key.empty() || !skip(rest, '=')) return core::Error{"a field is not KEY=VALUE"};
    if (!rest.empty() && rest.front() == '"') {
      if (!skip_quoted(rest)) return core::Error{"the text of the field " + std::string(key) + " has no end"};
      continue;
    }
    RecordField field;
    if (!read_value(take_until(rest, ", "), field))
      return core::Error{"the value of the field " + std::string(key) + " is no finite number, boolean or text"};
    if (record_.fields.size() == kMaxOfALine) return core::Error{"more than 1024 fields"};
    field.name = joined(measurement, key);
    record_.fields.push_back(field);
  } while (skip(rest, ','));
  return core::Done{};
}

core::Status InfluxReader::line(std::string_view text, int64_t unit_ns, int64_t now_ns) {
  record_ = Record{};
  texts_.clear();
  std::string_view rest = text;
  const std::string_view measurement = plain(take_until(rest, ", "));
  if (measurement.empty()) return core::Error{"the line has no measurement"};
  if (core::Status status = add_tags(rest); !status) return status;
  if (!skip(rest, ' ')) return core::Error{"the line has no fields"};
  if (core::Status status = add_fields(rest, measurement); !status) return status;
  if (record_.fields.empty()) return core::Error{"the line has texts only; a metric is a number"};
  record_.time_ns = now_ns;
  if (!skip(rest, ' ')) return rest.empty() ? core::Status(core::Done{}) : core::Error{"unexpected text behind the fields"};
  const auto time = parse_integer(rest);
  if (!time || *time <= 0 || *time > std::numeric_limits<int64_t>::max() / unit_ns)
    return core::Error{"the time is not a whole number after 1970 in the precision of the request"};
  record_.time_ns = *time * unit_ns;
  return core::Done{};
}

Account InfluxReader::read(std::string_view body, int64_t unit_ns, int64_t now_ns, const Rules &rules, Taker &taker) {
  Account account;
  for (uint64_t number = 1; !body.empty(); ++number) {
    size_t end = 0;
    for (bool quoted = false; end < body.size() && (quoted || body[end] != '\n'); ++end) {
      if (body[end] == '\\' && end + 1 < body.size()) {
        ++end;
      } else if (body[end] == '"') {
        quoted = !quoted;
      }
    }
    end = std::min(end, body.size());
    std::string_view text = body.substr(0, end);
    body.remove_prefix(std::min(end + 1, body.size()));
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
    if (text.empty() || text.front() == '#') continue;
    core::Status status = line(text, unit_ns, now_ns);
    if (status && !taker.take(record_)) status = core::Error{std::string(kTooManyNames)};
    if (status) {
      ++account.good;
    } else {
      refuse(account, rules, [&](std::string &out) { append_numbered(out, "line", number, status.error()); });
    }
  }
  return account;
}

}  // namespace atalaya::protocols
