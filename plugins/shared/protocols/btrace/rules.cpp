// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/btrace/rules.h"

#include <algorithm>
#include <array>

#include "core/base/text/lua_pattern.h"
#include "core/base/text/text.h"
#include "plugins/shared/io/samples/metric_name.h"
#include "plugins/shared/protocols/btrace/phase_line.h"
#include "plugins/shared/protocols/btrace/times.h"

namespace atalaya::btrace {
namespace {

using namespace std::literals;
using core::LuaPattern;

constexpr std::string_view kIgnored = "_", kTag = "tag.", kField = "field.";
constexpr std::array kTimes = {"time"sv, "start"sv, "end"sv};

enum class Search { found, nothing };

// The first match, with its captures.
core::Result<Search> search(std::string_view line, const std::string &pattern, std::vector<std::string_view> &captures) {
  LuaPattern matcher(line, pattern, true);
  for (size_t at = 0; at <= line.size(); ++at) {
    const char *end = matcher.match_at(line.data() + at);
    if (matcher.error() != nullptr) return core::Error{"the pattern " + core::in_quotes(pattern) + ": " + matcher.error()};
    if (end != nullptr) {
      captures.clear();
      for (int i = 0; i < matcher.captures(); ++i) {
        const LuaPattern::Capture &one = matcher.capture(i);
        captures.emplace_back(one.begin, one.size < 0 ? 0 : static_cast<size_t>(one.size));
      }
      return Search::found;
    }
    if (matcher.anchored()) break;
  }
  return Search::nothing;
}

// The end of the single character or set at `at`; npos: unterminated.
size_t item_end(std::string_view pattern, size_t at) {
  if (pattern[at] == '%') return at + 2 <= pattern.size() ? at + 2 : std::string_view::npos;
  if (pattern[at] != '[') return at + 1;
  ++at;
  if (at < pattern.size() && pattern[at] == '^') ++at;
  do {  // a leading ']' belongs to the set
    if (at >= pattern.size()) return std::string_view::npos;
    at += pattern[at] == '%' ? 2 : 1;
  } while (at >= pattern.size() || pattern[at] != ']');
  return at + 1;
}

bool is_time(std::string_view name) {
  return std::find(kTimes.begin(), kTimes.end(), name) != kTimes.end();
}

}  // namespace

core::Result<size_t> count_captures(std::string_view pattern) {
  size_t captures = 0, open = 0;
  for (size_t at = pattern.starts_with('^') ? 1 : 0; at < pattern.size();) {
    const char c = pattern[at];
    if (c == '(') {
      ++captures, ++open, ++at;
    } else if (c == ')') {
      if (open == 0) return core::Error{"has a ) without a ("};
      --open, ++at;
    } else if (pattern.substr(at).starts_with("%b")) {
      if (pattern.size() - at < 4) return core::Error{"ends within %b"};
      at += 4;
    } else if (pattern.substr(at).starts_with("%f")) {
      at += 2;
      if (at >= pattern.size() || pattern[at] != '[') return core::Error{"has a %f without a [set]"};
    } else {
      at = item_end(pattern, at);
      if (at == std::string_view::npos) return core::Error{c == '[' ? "has a [ without a ]" : "ends with %"};
    }
  }
  if (open > 0) return core::Error{"has a ( without a )"};
  if (captures > static_cast<size_t>(LuaPattern::kMaxCaptures)) return core::Error{"has more than 32 captures"};
  return captures;
}

core::Result<Rules::Target> Rules::make_target(const std::string &text, bool metrics) {
  using Kind = Target::Kind;
  if (text == kIgnored) return Target{Kind::ignored, {}};
  if (text.starts_with(kTag) && text.size() > kTag.size()) return Target{Kind::tag, text.substr(kTag.size())};
  if (text.starts_with(kField) && text.size() > kField.size()) {
    std::string name;
    io::append_metric_name(name, std::string_view(text).substr(kField.size()));
    return Target{Kind::field, name};
  }
  if (metrics && text == "time") return Target{Kind::key, text};
  SpanEvent event;
  // Every known key accepts "1" (a time, count or outcome) or an empty value (a tag).
  if (!metrics && (set_key(event, text, "1") || set_key(event, text, ""))) return Target{Kind::key, text};
  return core::Error{"captures: unknown word " + core::in_quotes(text) + "; write tag.NAME, field.NAME, _ to ignore it, or " +
                     (metrics ? "time" : "a key of phase lines such as job, task, phase, time, start, end, bytes, outcome")};
}

core::Result<Rules::Rule> Rules::make_rule(const RuleText &text) {
  Rule rule;
  rule.pattern = text.match;
  const auto captures = count_captures(text.match);
  if (!captures) return core::Error{"match: the pattern " + core::in_quotes(text.match) + " " + captures.error()};
  static constexpr std::pair<std::string_view, Emit> kEmits[] = {
      {"metrics", Emit::metrics}, {"begin", Emit::begin}, {"end", Emit::end}, {"span", Emit::span}, {"drop", Emit::drop}};
  for (const auto &[word, emit] : kEmits)
    if (text.emit == word) rule.emit = emit;
  const bool span = rule.emit == Emit::begin || rule.emit == Emit::end || rule.emit == Emit::span;
  if (span && !is_level(text.level)) return core::Error{"level: missing; a span requires job, stage, task, phase or region"};
  if (captures.value() != text.captures.size())
    return core::Error{"captures: " + std::to_string(text.captures.size()) + " listed, but the pattern " +
                       core::in_quotes(text.match) + " has " + std::to_string(captures.value())};
  for (const std::string &one : text.captures) {
    auto target = make_target(one, rule.emit == Emit::metrics);
    if (!target) return core::Error{target.error()};
    rule.targets.push_back(std::move(*target));
  }
  rule.level = text.level;
  rule.tags = text.tags;
  rule.time_format = text.time == "epoch" ? "" : text.time;
  rule.utc = text.utc;
  return rule;
}

core::Result<Rules> Rules::make(const std::vector<RuleText> &texts) {
  Rules rules;
  for (size_t i = 0; i < texts.size(); ++i) {
    auto rule = make_rule(texts[i]);
    if (!rule) return core::Error{"rules[" + std::to_string(i + 1) + "]." + rule.error()};
    rules.rules_.push_back(std::move(*rule));
  }
  return rules;
}

core::Status Rules::set(const Rule &rule, const Target &target, std::string_view value, Record &record, SpanEvent &event) {
  const bool metrics = rule.emit == Emit::metrics;
  auto &tags = metrics ? record.tags : event.tags;
  if (target.kind == Target::Kind::tag) {
    std::erase_if(tags, [&](const Tag &tag) { return tag.first == target.name; });
    if (!value.empty()) tags.emplace_back(target.name, value);
    return core::Done{};
  }
  if (target.kind == Target::Kind::field) {
    const auto number = parse_number(value);
    if (!number) return core::Error{"invalid number " + core::in_quotes(value) + " of " + target.name};
    (metrics ? record.fields : event.fields).emplace_back(target.name, *number);
    return core::Done{};
  }
  if (target.kind == Target::Kind::ignored) return core::Done{};
  if (!is_time(target.name)) return set_key(event, target.name, value);
  const auto time = rule.time_format.empty() ? parse_epoch(value) : parse_time(value, rule.time_format, rule.utc);
  if (!time)
    return core::Error{"invalid time " + core::in_quotes(value) + " for the format " +
                       core::in_quotes(rule.time_format.empty() ? "epoch" : rule.time_format)};
  if (metrics) {
    record.time_ns = *time;
  } else {
    (target.name == "end" || (target.name == "time" && rule.emit == Emit::end) ? event.end_ns : event.begin_ns) = *time;
  }
  return core::Done{};
}

core::Status Rules::apply(const Rule &rule, const std::vector<std::string_view> &captures, Record &record, SpanEvent &event) {
  using Kind = SpanEvent::Kind;
  record.clear();
  event.begin_line(rule.emit == Emit::begin ? Kind::begin : rule.emit == Emit::end ? Kind::end : Kind::whole, rule.level);
  for (const auto &[key, value] : rule.tags) (rule.emit == Emit::metrics ? record.tags : event.tags).emplace_back(key, value);
  for (size_t i = 0; i < rule.targets.size() && i < captures.size(); ++i)
    if (auto done = set(rule, rule.targets[i], captures[i], record, event); !done) return done;
  if (rule.emit == Emit::span && (event.begin_ns == 0 || event.end_ns == 0))
    return core::Error{"a span requires the captures start and end"};
  if (rule.emit == Emit::metrics && record.fields.empty()) return core::Error{"the rule has no field"};
  return core::Done{};
}

core::Result<Rules::Found> Rules::read(std::string_view line, Record &record, SpanEvent &event) {
  for (const Rule &rule : rules_) {
    const auto found = search(line, rule.pattern, captures_);
    if (!found) return core::Error{found.error()};
    if (found.value() == Search::nothing) continue;
    if (rule.emit == Emit::drop) return Found::drop;
    if (const auto done = apply(rule, captures_, record, event); !done) return core::Error{done.error()};
    return rule.emit == Emit::metrics ? Found::metrics : Found::event;
  }
  return Found::none;
}

}  // namespace atalaya::btrace
