// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/opentsdb/json_reader.h"

#include <algorithm>
#include <cmath>

#include "core/base/text/json.h"
#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"
#include "core/base/text/text.h"
#include "plugins/shared/protocols/base/numbers.h"
#include "plugins/shared/protocols/opentsdb/bdwatchdog.h"

namespace atalaya::protocols {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr int64_t kLastSecond = 0xffffffff;  // OpenTSDB: a larger time is in milliseconds
constexpr size_t kMaxTags = 8;               // OpenTSDB's

bool looks_like_integer(std::string_view text) {
  return text.find_first_of(".eE") == std::string_view::npos;
}

std::string_view text_or_nothing(const Scalar &scalar) {
  return scalar.is_text() ? scalar.text : std::string_view();
}

// Seconds, milliseconds, or seconds with a fraction; nothing if not a valid time after 1970.
std::optional<int64_t> parse_time(std::string_view text) {
  if (looks_like_integer(text)) {
    const auto value = parse_integer(text);
    if (!value || *value <= 0) return std::nullopt;
    const int64_t unit = *value > kLastSecond ? kNanosPerMilli : kNanosPerSecond;
    if (*value > INT64_MAX / unit) return std::nullopt;
    return *value * unit;
  }
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos || text.find_first_of("eE") != std::string_view::npos) {
    const auto value = parse_real(text);
    if (!value || !(*value >= 1) || *value > static_cast<double>(kLastSecond)) return std::nullopt;
    return static_cast<int64_t>(*value) * kNanosPerSecond;
  }
  // Parses digits, because a double of seconds would lose nanoseconds.
  const auto seconds = parse_integer(text.substr(0, dot));
  std::string_view fraction = text.substr(dot + 1);
  if (!seconds || *seconds <= 0 || *seconds > kLastSecond || fraction.empty() || fraction.size() > 9) return std::nullopt;
  if (fraction.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  int64_t nanos = parse_integer(fraction).value_or(0);
  for (size_t i = fraction.size(); i < 9; ++i) nanos *= 10;
  return *seconds * kNanosPerSecond + nanos;
}

// Reads a number of the record.
core::Status set_value(std::string_view text, RecordField &field) {
  if (looks_like_integer(text)) {
    const auto value = parse_integer(text);
    if (!value) return core::Error{"Unable to parse value to a number"};
    field.type = ATALAYA_I64;
    field.i64 = *value;
    return core::Done{};
  }
  const auto value = parse_real(text);
  if (!value) return core::Error{"Unable to parse value to a number"};
  if (!std::isfinite(*value)) return core::Error{"value is NaN or Infinite: " + std::string(text)};
  field.type = ATALAYA_F64;
  field.f64 = *value;
  return core::Done{};
}

// OpenTSDB's alphabet: ASCII letters and digits, - _ . / and non-ASCII letters.
core::Status check_word(std::string_view what, std::string_view word) {
  const auto invalid = [&] { return "Invalid " + std::string(what); };
  if (word.empty()) return core::Error{invalid() + ": empty string"};
  for (std::string_view rest = word; !rest.empty();) {
    const core::CodePoint point = core::first_code_point(rest);
    const char byte = rest.front();
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
    if (point.size <= 1 && !letter && std::string_view("-_./").find(byte) == std::string_view::npos)
      return core::Error{invalid() + " (\"" + std::string(word) + "\"): illegal character: " + byte};
    rest.remove_prefix(std::max<size_t>(point.size, 1));
  }
  return core::Done{};
}

core::Status check_words(const Record &record) {
  if (record.tags.size() > kMaxTags)
    return core::Error{"Too many tags: " + std::to_string(record.tags.size()) + " maximum allowed: " + std::to_string(kMaxTags)};
  if (core::Status status = check_word("metric name", record.fields.front().name); !status) return status;
  for (const RecordTag &tag : record.tags) {
    if (core::Status status = check_word("tag name", tag.key); !status) return status;
    if (core::Status status = check_word("tag value", tag.value); !status) return status;
  }
  return core::Done{};
}

void write_scalar(core::JsonWriter &json, const Scalar &scalar) {
  if (scalar.is_text())
    json.text(scalar.text);
  else
    json.null();
}

// {"datapoint":{...},"error":"..."} as OpenTSDB returns it: the value as text, the time as a number.
void append_datapoint(std::string &out, const Document &document, std::string_view error) {
  core::JsonWriter json(out);
  write_scalar(json.object().key("datapoint").object().key("metric"), document.metric);
  json.key("timestamp");
  const auto time = parse_integer(text_or_nothing(document.timestamp));
  if (time || document.timestamp.is_absent())
    json.integer(time.value_or(0));
  else
    write_scalar(json, document.timestamp);
  write_scalar(json.key("value"), document.value);
  json.key("tags");
  if (document.tags_type == Scalar::Type::other) {
    json.object();
    for (const Member &tag : document.tags) write_scalar(json.key(tag.key), tag.value);
    json.end_object();
  } else {
    json.null();
  }
  json.end_object().key("error").text(error).end_object();
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// Types that no point can have: the body is not a put of OpenTSDB.
bool is_put(const Document &document) {
  const auto fits = [](const Scalar &scalar) { return scalar.type != Scalar::Type::other; };
  const auto tag_fits = [&](const Member &tag) { return fits(tag.value); };
  const bool tags = document.tags_type == Scalar::Type::other || document.tags_type == Scalar::Type::absent ||
                    document.tags_type == Scalar::Type::null;
  return fits(document.metric) && fits(document.timestamp) && fits(document.value) && tags &&
         std::all_of(document.tags.begin(), document.tags.end(), tag_fits);
}

void reset(Record &record, uint32_t kind) {
  record.kind = kind;
  record.point = false;
  record.time_ns = record.duration_ns = 0;
  record.text = {};
  record.tags.clear();
  record.fields.clear();
}

std::optional<int64_t> scaled(const Scalar &scalar, int64_t unit) {
  const auto value = parse_integer(text_or_nothing(scalar));
  if (!value || *value > INT64_MAX / unit || *value < INT64_MIN / unit) return std::nullopt;
  return *value * unit;
}

constexpr std::string_view kNoJson = "Unable to parse the given JSON";

}  // namespace

core::Status JsonReader::add_tags(const Document &document, std::string_view except) {
  for (const Member &tag : document.tags) {
    if (tag.value.is_absent()) return core::Error{"Invalid tag value: null"};
    if (!tag.value.is_text()) return core::Error{"Invalid tag value: not a text"};
    if (tag.key.empty()) return core::Error{"Invalid tag name: empty string"};
    if (except.empty() || tag.key != except) record_.tags.push_back({tag.key, tag.value.text});
  }
  return core::Done{};
}

core::Status JsonReader::add_fields(const Document &document) {
  for (const Member &member : document.fields) {
    if (member.key.empty()) return core::Error{"Metric name was empty"};
    // Non-finite numbers are sent as text and count as absent.
    if (member.value.type == Scalar::Type::string) continue;
    RecordField field;
    field.name = member.key;
    if (core::Status status = set_value(text_or_nothing(member.value), field); !status) return status;
    record_.fields.push_back(field);
  }
  return core::Done{};
}

core::Status JsonReader::point(const Document &document, bool strict) {
  reset(record_, ATALAYA_METRICS);
  record_.point = true;
  RecordField field;
  field.name = text_or_nothing(document.metric);
  if (field.name.empty()) return core::Error{"Metric name was empty"};
  const auto time = parse_time(text_or_nothing(document.timestamp));
  if (!time) return core::Error{"Invalid timestamp"};
  record_.time_ns = *time;
  const std::string_view value = text_or_nothing(document.value);
  if (value.empty()) return core::Error{"Empty value"};
  if (strict && document.tags.empty()) return core::Error{"Missing tags"};
  if (core::Status status = set_value(value, field); !status) return status;
  record_.fields.push_back(field);
  if (core::Status status = add_tags(document); !status) return status;
  adopt_bdwatchdog_tags(record_);
  if (!strict) return core::Done{};
  return check_words(record_);
}

core::Status JsonReader::stack(const Document &document) {
  reset(record_, ATALAYA_STACK);
  const auto time = parse_time(text_or_nothing(document.timestamp));
  if (!time) return core::Error{"timestamp: must be of integer type, seconds after 1970"};
  record_.time_ns = *time;
  std::string_view frames = document.stack.type == Scalar::Type::string ? document.stack.text : std::string_view();
  if (frames.empty()) return core::Error{"stack: min length is 1"};
  RecordField count;
  count.name = "profile.samples";
  if (document.value.type != Scalar::Type::number || !set_value(document.value.text, count))
    return core::Error{"value: must be of integer type"};
  if ((count.type == ATALAYA_I64 ? static_cast<double>(count.i64) : count.f64) <= 0) return core::Error{"value: min value is 1"};
  record_.fields.push_back(count);
  // The root frame is COMM-PID.
  const std::string_view root = frames.substr(0, frames.find(';'));
  const size_t dash = root.rfind('-');
  if (dash != std::string_view::npos && dash > 0 && dash + 1 < root.size() &&
      root.find_first_not_of("0123456789", dash + 1) == std::string_view::npos) {
    record_.tags.push_back({"process", root.substr(0, dash)});
    record_.tags.push_back({"pid", root.substr(dash + 1)});
    frames.remove_prefix(std::min(root.size() + 1, frames.size()));
  }
  record_.text = frames;
  if (const std::string_view host = text_or_nothing(document.hostname); !host.empty()) record_.tags.push_back({"host", host});
  if (core::Status status = add_tags(document); !status) return status;
  const bool said =
      std::any_of(record_.tags.begin(), record_.tags.end(), [](const RecordTag &tag) { return tag.key == "profile"; });
  if (!said) record_.tags.push_back({"profile", "cpu"});  // the reference's only kind
  return core::Done{};
}

core::Status JsonReader::span(const Document &document) {
  reset(record_, ATALAYA_SPAN);
  record_.text = text_or_nothing(document.span);
  const auto start = scaled(document.start, kNanosPerMilli);
  if (!start) return core::Error{"start: must be an integer, milliseconds"};
  record_.time_ns = *start;
  record_.duration_ns = -1;
  if (!document.end.is_absent()) {
    const auto end = scaled(document.end, kNanosPerMilli);
    if (!end || *end < *start || (*start < 0 && *end > INT64_MAX + *start))
      return core::Error{"end: must be an integer, not before start"};
    record_.duration_ns = *end - *start;
  }
  if (core::Status status = add_tags(document); !status) return status;
  return add_fields(document);
}

core::Status JsonReader::sample(const Document &document) {
  const std::string_view kind = text_or_nothing(document.kind);
  if (kind != "metrics" && kind != "stack" && kind != "span") return core::Error{"kind: must be metrics, stack or span"};
  reset(record_, kind == "metrics" ? ATALAYA_METRICS : kind == "stack" ? ATALAYA_STACK : ATALAYA_SPAN);
  const auto time = scaled(document.time, 1);
  if (!time || *time <= 0) return core::Error{"time: must be an integer, nanoseconds after 1970"};
  record_.time_ns = *time;
  if (!document.duration.is_absent()) {
    const auto duration = scaled(document.duration, 1);
    if (!duration || *duration < -1) return core::Error{"duration: must be an integer, nanoseconds"};
    record_.duration_ns = *duration;
  }
  record_.text = text_or_nothing(document.text);
  if (core::Status status = add_tags(document); !status) return status;
  return add_fields(document);
}

core::Status JsonReader::line(const Document &document) {
  if (document.kind.type != Scalar::Type::absent) return sample(document);
  if (document.metric.type != Scalar::Type::absent) return point(document, false);
  if (document.stack.type != Scalar::Type::absent) return stack(document);
  if (document.span.type != Scalar::Type::absent) return span(document);
  return core::Error{"neither a point (metric), a stack, a span nor a sample (kind)"};
}

Account JsonReader::read_put(std::string_view body, const Rules &rules, RecordReceiver &receiver) {
  Account account;
  body = trim(body);
  if (body.empty()) {
    account.fatal = "Missing request content";
    return account;
  }
  if (body.front() != '{' && body.front() != '[') {
    account.fatal = "The JSON must start as an object or an array";
    return account;
  }
  bool puts = true;
  const bool json = documents_.read(body, [&](const Document &document) {
    puts = puts && is_put(document);
    if (!puts) return;
    core::Status status = point(document, rules.strict);
    if (status)
      if (const auto info = bdwatchdog_metric(record_.fields.front().name)) receiver.declare(record_.fields.front().name, *info);
    if (status && !receiver.take(record_)) status = core::Error{std::string(kTooManyNames)};
    if (status) {
      ++account.good;
    } else {
      refuse(account, rules, [&](std::string &out) { append_datapoint(out, document, status.error()); });
    }
  });
  if (!json || !puts) {
    account = Account{};
    account.fatal = kNoJson;
  } else if (account.good + account.failed == 0) {
    account.fatal = "No datapoints found in content";
  }
  return account;
}

Account JsonReader::read_stacks(std::string_view body, const Rules &rules, RecordReceiver &receiver) {
  Account account;
  const bool json = documents_.read(trim(body), [&](const Document &document) {
    core::Status status = stack(document);
    if (status && !receiver.take(record_)) status = core::Error{std::string(kTooManyNames)};
    if (status) {
      ++account.good;
      return;
    }
    const uint64_t number = account.good + account.failed;
    refuse(account, rules, [&](std::string &out) { append_numbered(out, "document", number, status.error()); });
  });
  if (!json) {
    account = Account{};
    account.fatal = kNoJson;
  }
  return account;
}

Account JsonReader::read_lines(std::string_view body, const Rules &rules, RecordReceiver &receiver) {
  Account account;
  for (uint64_t number = 1; !body.empty(); ++number) {
    const std::string_view text = trim(core::cut_at(body, '\n'));
    if (text.empty()) continue;
    // A document is passed on only after its whole line is valid.
    core::Status status = core::Done{};
    uint64_t documents = 0;
    const bool json = documents_.read(text, [&](const Document &document) {
      status = line(document);
      ++documents;
    });
    if (!json || documents != 1) status = core::Error{std::string(kNoJson)};
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
