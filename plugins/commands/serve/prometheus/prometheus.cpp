// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/prometheus/prometheus.h"

#include <algorithm>
#include <cmath>

#include "core/base/text/json_writer.h"
#include "core/base/text/text.h"
#include "core/base/text/units.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::serve {
namespace {

using query::exact_pattern;
using query::Query;
using query::time_of;
using query::Wrong;

constexpr int64_t kMaxSteps = 11'000;
constexpr const char *kNameOfMetric = "__name__";

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == ':';
}

std::string pattern_of(const std::string &sign, const std::string &value) {
  const std::string negation = sign[0] == '!' ? "!" : "";
  if (sign.back() != '~') return negation + exact_pattern(value);
  return negation + "~^(" + value + ")$";
}

bool matches_nothing(const std::string &expression) {
  const auto matcher = io::Matcher::parse("~^(" + expression + ")$");
  return matcher && matcher.value().matches("");
}

bool is_empty_text(const LabelMatcher &matcher) {
  return matcher.value.empty() && matcher.sign.front() == '=';
}

// Whether the name equals the metric's name in the store, or its name in Prometheus' alphabet. Names are never empty.
bool has_name(const std::string &metric, const LabelMatcher &matcher) {
  if (matcher.value.empty()) return !is_empty_text(matcher);
  const auto pattern = io::Matcher::parse(pattern_of(matcher.sign.back() == '~' ? "=~" : "=", matcher.value));
  if (!pattern) throw Wrong("__name__: " + pattern.error());
  const bool matches = pattern.value().matches(metric) || pattern.value().matches(legal_name(metric));
  return matches == (matcher.sign.front() == '=');
}

void add_matcher(Query &query, const std::string &label, const std::string &sign, const std::string &value) {
  // In Prometheus an empty value and an absent label are equal; stored tags are never empty.
  if (value.empty()) return query.tags.push_back({label, {sign[0] == '=' ? "!*" : "*"}});
  if (sign.back() == '~' && matches_nothing(value)) {
    if (sign == "=~") return query.tags_if_any.push_back({label, {pattern_of(sign, value)}});
    query.tags.push_back({label, {"*"}});
  }
  query.tags.push_back({label, {pattern_of(sign, value)}});
}

double seconds_of(const std::string &text) {
  if (const auto seconds = core::number_from<double>(text); seconds && std::isfinite(*seconds)) return *seconds;
  const auto duration = core::parse_duration(text);
  if (!duration) throw Wrong("step: " + duration.error());
  return static_cast<double>(duration.value()) / 1e9;
}

}  // namespace

std::string legal_name(std::string_view metric) {
  std::string name;
  for (const char c : metric) name += is_word(c) ? c : '_';
  return name;
}

Query query_of(const Expression &selector, const std::vector<std::string> &known) {
  Query query;
  query.group = false;
  const std::string &name = selector.word;
  std::vector<LabelMatcher> names;
  if (!name.empty()) names.push_back({kNameOfMetric, "=", name});
  for (const LabelMatcher &matcher : selector.matchers) {
    if (matcher.label == kNameOfMetric)
      names.push_back(matcher);
    else
      add_matcher(query, matcher.label, matcher.sign, matcher.value);
  }
  if (query.tags.empty() && std::all_of(names.begin(), names.end(), is_empty_text))
    throw Wrong("a selector needs a name, or a matcher that does not match an empty text, such as {host=\"a\"}");
  if (names.empty()) return query;
  for (const std::string &metric : known)
    if (std::all_of(names.begin(), names.end(), [&](const LabelMatcher &one) { return has_name(metric, one); }))
      query.metrics.push_back(exact_pattern(metric));
  if (query.metrics.empty())  // an unknown metric: selects a name that no metric has
    query.metrics.push_back(exact_pattern(names.front().value.empty() ? kNameOfMetric : names.front().value));
  return query;
}

Query read_selector(std::string_view text, const std::vector<std::string> &known) {
  const Part selector = read_promql(text);
  if (selector->kind != Expression::Kind::selector || selector->offset_ns != 0)
    throw Wrong("query " + core::in_quotes(text) + ": expected a selector, such as name{label=\"value\"}");
  return query_of(*selector, known);
}

Steps read_steps(const Request &request, int64_t now_ns) {
  for (const char *name : {"start", "end", "step"})
    if (request.text(name).empty()) throw Wrong(std::string("parameter ") + name + " is missing");
  Steps steps;
  steps.from_ns = time_of("start", request.text("start"), now_ns);
  steps.to_ns = time_of("end", request.text("end"), now_ns);
  const double step = seconds_of(request.text("step"));
  if (!(step >= 0.001 && step <= 1e9)) throw Wrong("step: from 1ms to 30 years");
  steps.step_ns = std::llround(step * 1e9);
  if (steps.to_ns < steps.from_ns) throw Wrong("end is before start");
  if ((steps.to_ns - steps.from_ns) / steps.step_ns >= kMaxSteps)
    throw Wrong("more than 11000 steps; use a longer step or a shorter range");
  return steps;
}

query::Range around(int64_t from_ns, int64_t to_ns) {
  return {from_ns - 2 * kLookback, to_ns + kLookback};
}

int64_t max_age_of(const query::Answer &answer) {
  return answer.window_ns > 0 ? 2 * std::min(answer.window_ns, kLookback / 2) : kLookback;
}

Query interval_query_of(Query selector, const Steps &steps) {
  selector.kinds = query::Kinds::intervals;
  selector.range = {steps.from_ns - steps.step_ns, steps.to_ns};
  selector.downsample = query::Downsample{steps.step_ns, std::nullopt, query::Fill::none, steps.from_ns % steps.step_ns};
  return selector;
}

Query instant_query_of(Query selector, const Steps &steps) {
  selector.kinds = query::Kinds::instants;
  selector.range = {steps.from_ns - kLookback, steps.to_ns};
  return selector;
}

std::vector<Step> at_steps(const std::vector<query::Point> &points, const Steps &steps, int64_t max_age_ns) {
  std::vector<Step> result;
  size_t next = 0;
  const int64_t count = (steps.to_ns - steps.from_ns) / steps.step_ns;
  for (int64_t i = 0; i <= count; ++i) {
    const int64_t time = steps.from_ns + i * steps.step_ns;
    while (next < points.size() && points[next].time_ns <= time) ++next;
    if (next < points.size() && points[next].covers(time) && (next == 0 || points[next - 1].time_ns < time))
      result.push_back({time, points[next]});
    else if (next > 0 && points[next - 1].time_ns >= time - max_age_ns)
      result.push_back({time, points[next - 1]});
  }
  return result;
}

double unix_seconds(int64_t time_ns) {
  const int64_t milliseconds = time_ns / 1'000'000;
  return static_cast<double>(milliseconds) / 1000;
}

void write_labels(core::JsonWriter &json, std::string_view metric, const query::Tags &tags) {
  json.object().key("__name__").text(legal_name(metric));
  for (const auto &[key, value] : tags) json.key(legal_name(key)).text(value);
  json.end_object();
}

void write_step(core::JsonWriter &json, const query::Answer &answer, const Step &step) {
  std::string value;
  if (std::isfinite(step.point.value))
    command_line::append_value(value, answer, step.point);
  else
    value = std::isnan(step.point.value) ? "NaN" : step.point.value > 0 ? "+Inf" : "-Inf";
  json.list().number(unix_seconds(step.time_ns)).text(value).end_list();
}

std::string matrix_json(const std::vector<query::Answer> &answers, const Steps &steps, query::Budget &budget) {
  core::JsonWriter json;
  for (const query::Answer &answer : answers) {
    const bool of_moments = !answer.info || answer.info->kind == store::Kind::total;
    const auto points = at_steps(answer.points, steps, of_moments ? max_age_of(answer) : 0);
    if (points.empty()) continue;
    budget.reserve(points.size());
    budget.work(points.size());
    write_labels(json.object().key("metric"), answer.metric, answer.tags);
    json.key("values").list();
    for (const Step &step : points) write_step(json, answer, step);
    json.end_list().end_object();
  }
  return json.take();
}

Answer prometheus_error(unsigned status, std::string_view message) {
  core::JsonWriter json;
  json.object().key("status").text("error").key("errorType");
  json.text(status == 400 ? "bad_data" : status == 422 ? "execution" : "internal").key("error").text(message).end_object();
  Answer answer;
  answer.status = status;
  answer.body = json.take();
  return answer;
}

}  // namespace atalaya::serve
