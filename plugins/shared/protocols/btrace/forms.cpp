// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/btrace/forms.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/io/samples/metric_name.h"
#include "plugins/shared/io/tail/journal.h"

namespace atalaya::btrace {
namespace {

using namespace std::literals;

constexpr size_t kMaxHeading = 200;
constexpr std::array kSnapshotColumns = {
    "btrace.profile.invocations"sv, "btrace.profile.self.total"sv, "btrace.profile.self.avg"sv,
    "btrace.profile.self.min"sv,    "btrace.profile.self.max"sv,   "btrace.profile.wall.total"sv,
    "btrace.profile.wall.avg"sv,    "btrace.profile.wall.min"sv,   "btrace.profile.wall.max"sv};

// "KEY = VALUE"
bool split_entry(std::string_view line, std::string_view &key, std::string_view &value) {
  const size_t equals = line.find(" = ");
  if (equals == std::string_view::npos || equals == 0) return false;
  key = core::trimmed(line.substr(0, equals));
  value = core::trimmed(line.substr(equals + 3));
  return !key.empty();
}

// The last word of a line, and the text before it.
std::string_view take_last_word(std::string_view &line) {
  line = core::trimmed(line);
  const size_t space = line.find_last_of(" \t");
  const std::string_view word = space == std::string_view::npos ? line : line.substr(space + 1);
  line.remove_suffix(word.size());
  line = core::trimmed(line);
  return word;
}

// Columns are padded with spaces; repeated spaces within a name become one.
void append_columns(std::string &out, std::string_view text) {
  bool blank = false;
  for (const char c : core::trimmed(text)) {
    const bool is_blank = c == ' ' || c == '\t';
    if (!is_blank && blank) out += ' ';
    if (!is_blank) out += c;
    blank = is_blank;
  }
}

bool is_snapshot_header(std::string_view line) {
  line = core::trimmed(line);
  return line.starts_with("Block") && line.find("Invocations") != std::string_view::npos &&
         line.find("SelfTime.Total") != std::string_view::npos;
}

bool is_trace(std::string_view line) {
  const std::string_view text = core::trimmed(line);
  return text.starts_with("at ") || text.starts_with("Caused by: ") || text.starts_with("... ") ||
         text.starts_with("Suppressed: ") || text.find("Exception") != std::string_view::npos ||
         text.find("Error") != std::string_view::npos;
}

bool is_name_begin(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// N of "Dropped N commands".
std::optional<int64_t> dropped_commands(std::string_view line) {
  if (!line.starts_with("Dropped ") || !line.ends_with(" commands")) return std::nullopt;
  const auto count = parse_integer(line.substr(8, line.size() - 17));
  return count && *count >= 0 ? count : std::nullopt;
}

}  // namespace

std::string_view Forms::metric(std::string_view name) {
  name_ = "btrace.";
  io::append_metric_name(name_, name);
  return name_;
}

void Forms::emit(std::string_view name, Number number, const Output &out) {
  record_.fields.emplace_back(metric(name), number);
  record_.time_ns = time_ns_;
  out(record_);
}

void Forms::interrupt(FormCounts &counts) {
  if (std::exchange(state_, State::none) == State::heading) ++counts.plain;  // the heading was followed by nothing
}

void Forms::take(std::string_view line, int64_t time_ns, bool message, FormCounts &counts, const Output &out) {
  time_ns_ = time_ns;
  if (line.ends_with('\r')) line.remove_suffix(1);
  record_.clear();
  if (!message && continue_form(line, out)) return;
  interrupt(counts);
  begin(line, message, counts, out);
}

bool Forms::continue_form(std::string_view line, const Output &out) {
  switch (state_) {
    case State::none:
      return false;
    case State::error:
      return is_trace(line);
    case State::snapshot:
      return snapshot_row(line, out);
    case State::heading:
      if (line.starts_with("  ") && is_snapshot_header(line)) return state_ = State::snapshot, true;
      if (line.starts_with("  ") && !core::trimmed(line).empty()) {
        state_ = State::table;
        return row(line, out), true;
      }
      // A heading with spaces is a message: a text "tasks done" followed by a number is not a map.
      if (heading_.find(' ') != std::string::npos || line.find(" = ") == std::string_view::npos) return false;
      state_ = State::map;
      return entry(line, out);
    case State::map:
      return entry(line, out);
    case State::table:
      if (line.starts_with('\t')) return distribution(line, out);
      if (!line.starts_with("  ") || core::trimmed(line).empty()) return false;
      return row(line, out), true;
  }
  return false;
}

void Forms::begin(std::string_view line, bool message, FormCounts &counts, const Output &out) {
  heading_.clear();
  if (core::trimmed(line).empty()) return;
  if (line.starts_with("! ERROR")) {
    ++counts.errors;
    state_ = State::error;
  } else if (const auto dropped = dropped_commands(line)) {
    counts.dropped += *dropped;
  } else if (line.starts_with("speculative buffer overflow: ")) {
    ++counts.overflows;
  } else if (is_snapshot_header(line)) {
    state_ = State::snapshot;
  } else if (entry(line, out) || fields(line, out) || array(line, out)) {
    return;
  } else if (message || line.size() > kMaxHeading || !is_name_begin(line.front())) {
    ++counts.plain;
  } else {
    heading_ = line;
    state_ = State::heading;
  }
}

// An entry of a map, or a single number. Texts cannot become a metric.
bool Forms::entry(std::string_view line, const Output &out) {
  std::string_view key, value;
  if (!split_entry(line, key, value)) return false;
  const auto number = parse_number(value);
  if (!number) return !heading_.empty();
  if (heading_.empty()) return emit(key, *number, out), true;
  record_.tags.emplace_back("key", key);
  emit(heading_, *number, out);
  return true;
}

void Forms::row(std::string_view line, const Output &out) {
  std::string_view columns = line;
  const auto number = parse_number(take_last_word(columns));
  key_.clear();
  append_columns(key_, number ? columns : line);
  if (!number) return;  // its distribution follows
  if (!key_.empty()) record_.tags.emplace_back("key", key_);
  emit(heading_, *number, out);
}

// "              8 |@@@@                                     3", after a tab at the begin of the line.
bool Forms::distribution(std::string_view line, const Output &out) {
  const size_t bar = line.find('|');
  if (bar == std::string_view::npos) return line.find("Distribution") != std::string_view::npos;
  const std::string_view bucket = core::trimmed(line.substr(0, bar));
  std::string_view rest = line.substr(bar + 1);
  const auto count = parse_integer(take_last_word(rest));
  if (!parse_integer(bucket) || !count) return false;
  if (!key_.empty()) record_.tags.emplace_back("key", key_);
  record_.tags.emplace_back("bucket", bucket);
  emit(heading_, count_of(*count), out);
  return true;
}

bool Forms::snapshot_row(std::string_view line, const Output &out) {
  std::array<std::string_view, kSnapshotColumns.size()> columns;
  for (size_t i = columns.size(); i-- > 0;) columns[i] = take_last_word(line);
  if (line.empty() || !parse_number(columns[0])) return false;
  record_.tags.emplace_back("name", line);
  for (size_t i = 0; i < columns.size(); ++i)
    if (const auto number = parse_number(columns[i])) record_.fields.emplace_back(kSnapshotColumns[i], *number);  // else N/A
  record_.time_ns = time_ns_;
  out(record_);
  return true;
}

// "{count=3, name=x, Class.ratio=0.5, }": its numbers, as one sample.
bool Forms::fields(std::string_view line, const Output &out) {
  if (!line.starts_with('{') || !line.ends_with('}')) return false;
  std::string names;
  std::vector<std::pair<size_t, Number>> found;  // the end of each name
  for (std::string_view rest = line.substr(1, line.size() - 2); !rest.empty();) {
    const size_t comma = std::min(rest.find(", "), rest.size());
    const std::string_view one = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 2, rest.size()));
    const size_t equals = one.find('=');
    const auto number = equals == std::string_view::npos ? std::nullopt : parse_number(one.substr(equals + 1));
    if (!number || equals == 0) continue;
    names += "btrace.";
    io::append_metric_name(names, core::trimmed(one.substr(0, equals)));
    found.emplace_back(names.size(), *number);
  }
  size_t from = 0;
  for (const auto &[to, number] : found) {
    record_.fields.emplace_back(std::string_view(names).substr(from, to - from), number);
    from = to;
  }
  record_.time_ns = time_ns_;
  if (!found.empty()) out(record_);
  return true;
}

// "[3, 5, ]": a sample for each number, with its index.
bool Forms::array(std::string_view line, const Output &out) {
  if (!line.starts_with('[') || !line.ends_with(", ]")) return false;
  std::string_view rest = line.substr(1, line.size() - 4);
  for (int64_t i = 0; !rest.empty(); ++i) {
    const size_t comma = std::min(rest.find(", "), rest.size());
    const auto number = parse_number(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 2, rest.size()));
    if (!number) continue;
    const std::string index = std::to_string(i);
    record_.clear();
    record_.tags.emplace_back("index", index);
    emit("array", *number, out);
  }
  return true;
}

std::string Forms::line() const {
  return std::to_string(static_cast<int>(state_)) + ' ' + tail::escaped(heading_) + ' ' + tail::escaped(key_);
}

core::Status Forms::restore(std::string_view line) {
  const core::Error wrong{"malformed state: " + std::string(line.substr(0, 100))};
  const size_t first = line.find(' '), second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return wrong;
  const auto state = parse_integer(line.substr(0, first));
  if (!state || *state < 0 || *state > static_cast<int>(State::error)) return wrong;
  if (!tail::unescape(line.substr(first + 1, second - first - 1), heading_) || !tail::unescape(line.substr(second + 1), key_))
    return wrong;
  state_ = static_cast<State>(*state);
  return core::Done{};
}

}  // namespace atalaya::btrace
