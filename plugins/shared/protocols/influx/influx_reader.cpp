// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/influx/influx_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/shared/protocols/base/numbers.h"

namespace atalaya::protocols {
namespace {

constexpr size_t kMaxLineFields = 1024;  // tags or fields, as of a JSON document

constexpr std::string_view kMeasurementEnds = ", ", kWordEnds = ",= ";

// A backslash escapes only the characters that end the text: two of them in front of a comma are a backslash and an escaped comma.
size_t length_until(std::string_view text, std::string_view ends) {
  size_t at = 0;
  while (at < text.size() && ends.find(text[at]) == std::string_view::npos)
    at += text[at] == '\\' && at + 1 < text.size() && ends.find(text[at + 1]) != std::string_view::npos ? 2 : 1;
  return at;
}

// The text up to the first of these characters that has no backslash in front; removes it from `rest`.
std::string_view take_until(std::string_view &rest, std::string_view ends) {
  const std::string_view taken = rest.substr(0, length_until(rest, ends));
  rest.remove_prefix(taken.size());
  return taken;
}

// Blanks between the parts of a line. Tabs are blanks, as for InfluxDB.
bool skip_blanks(std::string_view &rest) {
  const size_t length = std::min(rest.find_first_not_of(" \t"), rest.size());
  rest.remove_prefix(length);
  return length > 0;
}

bool skip(std::string_view &rest, char wanted) {
  if (rest.empty() || rest.front() != wanted) return false;
  rest.remove_prefix(1);
  return true;
}

// The length of the text in quotes at the start of `rest`, with both quotes. 0: it has no end, or something other than the next
// part of a line is behind it.
size_t quoted_length(std::string_view rest) {
  size_t at = 1;
  while (at < rest.size() && rest[at] != '"') at += rest[at] == '\\' ? 2 : 1;
  if (at >= rest.size()) return 0;
  ++at;
  return at == rest.size() || std::string_view(", \t\r\n").find(rest[at]) != std::string_view::npos ? at : 0;
}

// The length of the line at the start of `body`. Only the text of a field may contain line feeds; in names and tags a quote is a
// plain character. A text without an end does not hide the lines behind it.
size_t line_length(std::string_view body) {
  const size_t first = std::min(body.find('\n'), body.size());
  size_t at = std::min(body.find_first_not_of(" \t"), first);
  if (at == first || body[at] == '#') return first;
  at += length_until(body.substr(at, first - at), " ");
  bool value = false;  // behind the '=' of a field
  for (; at < body.size() && body[at] != '\n'; ++at) {
    if (value && body[at] == '"') {
      const size_t length = quoted_length(body.substr(at));
      if (length == 0) return first;
      at += length - 1;
    }
    value = body[at] == '=';
    if (body[at] == '\\' && at + 1 < body.size() && kWordEnds.find(body[at + 1]) != std::string_view::npos) ++at;
  }
  return at;
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
    const std::string_view digits = text.substr(0, text.size() - 1);
    if (text.back() == 'u') {
      const auto large = parse_unsigned(digits);
      if (!large) return false;
      if (*large > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        field.f64 = static_cast<double>(*large);
        return true;
      }
    }
    const auto value = parse_integer(digits);
    if (!value) return false;
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

// Without backslashes before the characters that end the text.
std::string_view InfluxReader::plain(std::string_view text, std::string_view ends) {
  if (text.find('\\') == std::string_view::npos) return text;
  std::string &out = texts_.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && ends.find(text[i + 1]) != std::string_view::npos) ++i;
    out += text[i];
  }
  return out;
}

core::Result<std::string_view> InfluxReader::name(std::string_view &rest, std::string_view ends, std::string_view missing) {
  const std::string_view text = plain(take_until(rest, ends), ends);
  if (text.empty()) return core::Error{std::string(missing)};
  if (text.find('\t') != std::string_view::npos) return core::Error{"a tab is no part of a name"};
  return text;
}

std::string_view InfluxReader::joined(std::string_view measurement, std::string_view field) {
  if (field == "value") return measurement;
  return texts_.emplace_back(std::string(measurement).append(1, '.').append(field));
}

core::Status InfluxReader::add_tags(std::string_view &rest) {
  constexpr std::string_view kNoTag = "a tag is not KEY=VALUE";
  while (skip(rest, ',')) {
    const auto key = name(rest, kWordEnds, kNoTag);
    if (!key) return core::Error{key.error()};
    if (!skip(rest, '=')) return core::Error{std::string(kNoTag)};
    const std::string_view value = plain(take_until(rest, kWordEnds), kWordEnds);
    if (value.empty()) return core::Error{"the tag " + std::string(key.value()) + " has no value"};
    if (record_.tags.size() == kMaxLineFields) return core::Error{"more than 1024 tags"};
    record_.tags.push_back({key.value(), value});
  }
  return core::Done{};
}

core::Status InfluxReader::add_fields(std::string_view &rest, std::string_view measurement) {
  constexpr std::string_view kNoField = "a field is not KEY=VALUE";
  do {
    const auto key = name(rest, kWordEnds, kNoField);
    if (!key) return core::Error{key.error()};
    if (!skip(rest, '=')) return core::Error{std::string(kNoField)};
    if (!rest.empty() && rest.front() == '"') {
      const size_t length = quoted_length(rest);
      if (length == 0) return core::Error{"the text of the field " + std::string(key.value()) + " has no end"};
      rest.remove_prefix(length);
      continue;
    }
    RecordField field;
    if (!read_value(take_until(rest, ", \t"), field))
      return core::Error{"the value of the field " + std::string(key.value()) + " is no finite number, boolean or text"};
    if (record_.fields.size() == kMaxLineFields) return core::Error{"more than 1024 fields"};
    field.name = joined(measurement, key.value());
    record_.fields.push_back(field);
  } while (skip(rest, ','));
  return core::Done{};
}

core::Status InfluxReader::line(std::string_view text, int64_t unit_ns, int64_t now_ns) {
  record_ = Record{};
  texts_.clear();
  std::string_view rest = text;
  const auto measurement = name(rest, kMeasurementEnds, "the line has no measurement");
  if (!measurement) return core::Error{measurement.error()};
  if (core::Status status = add_tags(rest); !status) return status;
  if (!skip_blanks(rest)) return core::Error{"the line has no fields"};
  if (core::Status status = add_fields(rest, measurement.value()); !status) return status;
  if (record_.fields.empty()) return core::Error{"the line has texts only; a metric is a number"};
  record_.time_ns = now_ns;
  const bool apart = skip_blanks(rest);
  if (rest.empty()) return core::Done{};
  if (!apart) return core::Error{"unexpected text behind the fields"};
  const auto time = parse_integer(rest);
  if (!time || *time <= 0 || *time > std::numeric_limits<int64_t>::max() / unit_ns)
    return core::Error{"the time is not a whole number after 1970 in the precision of the request"};
  record_.time_ns = *time * unit_ns;
  return core::Done{};
}

Account InfluxReader::read(std::string_view body, int64_t unit_ns, int64_t now_ns, const Rules &rules, RecordReceiver &receiver) {
  Account account;
  for (uint64_t number = 1, lines = 0; !body.empty(); number += lines) {
    std::string_view text = body.substr(0, line_length(body));
    lines = static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    body.remove_prefix(std::min(text.size() + 1, body.size()));
    skip_blanks(text);
    while (!text.empty() && std::string_view("\r \t").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
    if (text.empty() || text.front() == '#') continue;
    core::Status status = line(text, unit_ns, now_ns);
    if (status && !receiver.take(record_)) status = core::Error{std::string(kTooManyNames)};
    if (status) {
      ++account.good;
    } else {
      refuse(account, rules, [&](std::string &out) { append_numbered(out, "line", number, status.error()); });
    }
  }
  return account;
}

}  // namespace atalaya::protocols
