// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/btrace/phase_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "core/base/text/text.h"
#include "plugins/shared/io/tail/journal.h"
#include "plugins/shared/protocols/btrace/times.h"

namespace atalaya::btrace {
namespace {

using namespace std::literals;

constexpr std::array kTags = {"host"sv, "job"sv,    "stage"sv,     "task"sv,     "attempt"sv,  "phase"sv,
                              "name"sv, "source"sv, "framework"sv, "locality"sv, "executor"sv, "quality"sv};

// Allowed values of these tags; other tags accept any value.
struct Words {
  std::string_view key;
  std::vector<std::string_view> values;
};
const Words &words_of(std::string_view key) {
  static const Words all[] = {{"source", {"memory", "disk", "network", "cache"}},
                              {"locality", {"node", "rack", "datacenter", "remote", "process"}},
                              {"quality", {"placed"}},  // the span's position was estimated, not observed
                              {"", {}}};
  return *std::find_if(std::begin(all), std::end(all) - 1, [&](const Words &one) { return one.key == key; });
}

constexpr std::pair<std::string_view, std::string_view> kCounts[] = {{"bytes", "span.bytes"},
                                                                     {"records", "span.records"},
                                                                     {"remote", "span.bytes.remote"},
                                                                     {"spills", "span.spills"},
                                                                     {"gc", "span.gc.time"}};

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::optional<int64_t> outcome_of(std::string_view word) {
  static constexpr std::array<std::array<std::string_view, 3>, 3> kWords = {
      {{"0", "succeeded", "success"}, {"1", "failed", "failure"}, {"2", "killed", "killed"}}};
  for (size_t i = 0; i < kWords.size(); ++i)
    for (const std::string_view known : kWords[i])
      if (same_word(word, known)) return static_cast<int64_t>(i);
  return std::nullopt;
}

bool set_time(int64_t &time_ns, std::string_view value) {
  const auto time = parse_epoch(value);
  if (time) time_ns = *time;
  return time.has_value();
}

bool set_number(SpanEvent &event, std::string_view key, std::string_view value) {
  if (key == "outcome") {
    const auto outcome = outcome_of(value);
    if (outcome) event.fields.emplace_back("span.outcome", count_of(*outcome));
    return outcome.has_value();
  }
  for (const auto &[word, field] : kCounts) {
    if (key != word) continue;
    const auto count = parse_integer(value);
    if (count && *count >= 0) event.fields.emplace_back(field, count_of(*count));
    return count && *count >= 0;
  }
  const auto number = parse_number(value);  // counter.GROUP.NAME
  if (number) event.fields.emplace_back(key, *number);
  return number.has_value();
}

bool set_tag(SpanEvent &event, std::string_view key, std::string_view value) {
  std::erase_if(event.tags, [&](const Tag &tag) { return tag.first == key; });  // the last one wins
  if (value.empty()) return true;
  const auto &known = words_of(key).values;
  if (!known.empty() && std::find(known.begin(), known.end(), value) == known.end()) return false;
  event.tags.emplace_back(key, value);
  return true;
}

bool is_number_key(std::string_view key) {
  return key == "outcome" || (key.starts_with("counter.") && key.size() > 8) ||
         std::any_of(std::begin(kCounts), std::end(kCounts), [&](const auto &known) { return known.first == key; });
}

// The end of "invalid VALUE of KEY; expected ...".
std::string expected(std::string_view key) {
  if (key == "time" || key == "start" || key == "end") return "Unix time in s, ms, us or ns; seconds may have a fraction";
  if (key == "outcome") return "0 or succeeded, 1 or failed, 2 or killed";
  if (key.starts_with("counter.")) return "a number";
  if (key == "gc") return "an integer number of milliseconds";
  if (key == "bytes" || key == "remote") return "an integer number of bytes";
  if (is_number_key(key)) return "an integer";
  std::string text;
  const auto &known = words_of(key).values;
  for (size_t i = 0; i < known.size(); ++i) (text += i == 0 ? "" : i + 1 < known.size() ? ", " : " or ") += known[i];
  return text;
}

}  // namespace

core::Status set_key(SpanEvent &event, std::string_view key, std::string_view value) {
  bool good = true;
  if (std::find(kTags.begin(), kTags.end(), key) != kTags.end()) {
    good = set_tag(event, key, value);
  } else if (key == "seq") {
    event.seq = value;
  } else if (key == "time") {
    good = set_time(event.kind == SpanEvent::Kind::end ? event.end_ns : event.begin_ns, value);
  } else if (key == "start") {
    good = set_time(event.begin_ns, value);
  } else if (key == "end") {
    good = set_time(event.end_ns, value);
  } else if (is_number_key(key)) {
    good = set_number(event, key, value);
  } else {
    return core::Error{"unknown key " + core::in_quotes(key)};
  }
  if (!good)
    return core::Error{"invalid value " + core::in_quotes(value) + " of " + std::string(key) + "; expected " + expected(key)};
  return core::Done{};
}

std::string_view PhaseLineReader::decoded(std::string_view text, bool &good) {
  if (text.find('%') == std::string_view::npos) return text;
  if (used_ == texts_.size()) texts_.emplace_back();
  std::string &out = texts_[used_++];
  good = tail::unescape(text, out) && good;
  return out;
}

core::Status PhaseLineReader::read_words(std::string_view words, SpanEvent &event) {
  while (!(words = core::trimmed(words)).empty()) {
    const size_t end = std::min(words.find(' '), words.size()), equals = words.substr(0, end).find('=');
    if (equals == std::string_view::npos || equals == 0)
      return core::Error{core::in_quotes(words.substr(0, end)) + " is not KEY=VALUE"};
    bool good = true;
    const std::string_view value = decoded(words.substr(equals + 1, end - equals - 1), good);
    if (!good) return core::Error{core::in_quotes(words.substr(0, end)) + " has a % without two hexadecimal digits; write %25"};
    if (auto done = set_key(event, words.substr(0, equals), value); !done) return done;
    words.remove_prefix(end);
  }
  return core::Done{};
}

core::Result<Parsed> PhaseLineReader::read(std::string_view line, SpanEvent &event) {
  static constexpr std::pair<std::string_view, SpanEvent::Kind> kVerbs[] = {
      {"begin ", SpanEvent::Kind::begin}, {"end ", SpanEvent::Kind::end}, {"span ", SpanEvent::Kind::whole}};
  static constexpr std::string_view kMark = "atalaya ";
  const size_t at = line.find(kMark);
  if (at == std::string_view::npos || (at > 0 && line[at - 1] != ' ' && line[at - 1] != '\t')) return Parsed::none;
  line.remove_prefix(at + kMark.size());
  const auto *verb =
      std::find_if(std::begin(kVerbs), std::end(kVerbs), [&](const auto &one) { return line.starts_with(one.first); });
  if (verb == std::end(kVerbs)) return Parsed::none;
  line = core::trimmed(line.substr(verb->first.size()));
  used_ = 0;
  event.begin_line(verb->second, line.substr(0, line.find(' ')));
  if (!is_level(event.level))
    return core::Error{"unknown level " + core::in_quotes(event.level) + "; use job, stage, task, phase or region"};
  line.remove_prefix(event.level.size());
  if (const auto done = read_words(line, event); !done) return core::Error{done.error()};
  if (event.kind == SpanEvent::Kind::whole && (event.begin_ns == 0 || event.end_ns == 0))
    return core::Error{"a span requires start= and end="};
  return Parsed::event;
}

}  // namespace atalaya::btrace
