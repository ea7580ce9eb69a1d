// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/prometheus.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "plugins/shared/analysis/query/pieces.h"
#include "plugins/shared/analysis/query/render.h"
#include "plugins/shared/match/matcher.h"

namespace atalaya::serve {
namespace {

using query::exactly;
using query::Query;
using query::time_of;
using query::Wrong;

constexpr int64_t kMaxSteps = 11'000;
constexpr size_t kMaxMatchers = 64;

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == ':';
}

// The name in Prometheus' form.
std::string legal(std::string_view metric) {
  std::string name;
  for (const char c : metric) name += is_word(c) ? c : '_';
  return name;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::string name() {
    space();
    std::string word;
    // A backslash escapes other characters of a name: proc\.cpu\.user.
    while (at_ < text_.size() && (is_word(text_[at_]) || (text_[at_] == '\\' && at_ + 1 < text_.size()))) {
      if (text_[at_] == '\\') ++at_;
      word += text_[at_++];
    }
    return word;
  }
  bool take(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string sign() {
    space();
    for (const std::string_view sign : {"=~", "!~", "!=", "="})
      if (text_.substr(at_, sign.size()) == sign) {
        at_ += sign.size();
        return std::string(sign);
      }
    wrong("= != =~ or !~");
  }
  std::string quoted() {
    space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '"' && quote != '\'') wrong("a text in quotes");
    std::string value;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        const char c = text_[++at_];
        value += c == 'n' ? '\n' : c == 't' ? '\t' : c;
      } else {
        value += text_[at_];
      }
    }
    if (!take(quote)) wrong("the end of a text");
    return value;
  }
  bool done() {
    space();
    return at_ == text_.size();
  }
  [[noreturn]] void wrong(const std::string &wanted) const {
    throw Wrong("query " + core::in_quotes(text_) + ": expected " + wanted + " at position " + std::to_string(at_ + 1) +
                "; only selectors are supported, such as name{label=\"value\"}");
  }

 private:
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  std::string_view text_;
  size_t at_ = 0;
};

std::string pattern_of(const std::string &sign, const std::string &value) {
  const std::string negation = sign[0] == '!' ? "!" : "";
  if (sign.back() != '~') return negation + exactly(value);
  return negation + "~^(" + value + ")$";
}

bool matches_nothing(const std::string &expression) {
  const auto matcher = core::Matcher::parse("~^(" + expression + ")$");
  return matcher && matcher.value().matches("");
}

void add_matcher(Query &query, const std::string &label, const std::string &sign, const std::string &value) {
  if (label.empty()) throw Wrong("a matcher has no label");
  if (query.tags.size() + query.tags_if_any.size() + query.metrics.size() >= kMaxMatchers) throw Wrong("more than 64 matchers");
  if (label == "__name__") {
    query.metrics.push_back(pattern_of(sign, value));
    return;
  }
  // In Prometheus an empty value and an absent label are equal; stored tags are never empty.
  if (value.empty()) return query.tags.push_back({label, {sign[0] == '=' ? "!*" : "*"}});
  if (sign.back() == '~' && matches_nothing(value)) {
    if (sign == "=~") return query.tags_if_any.push_back({label, {pattern_of(sign, value)}});
    query.tags.push_back({label, {"*"}});
  }
  query.tags.push_back({label, {pattern_of(sign, value)}});
}

double seconds_of(const std::string &text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool number = error == std::errc() && end == text.data() + text.size() && std::isfinite(seconds);
  if (number) return seconds;
  const auto duration = core::parse_duration(text);
  if (!duration) throw Wrong("step: " + duration.error());
  return static_cast<double>(duration.value()) / 1e9;
}

}  // namespace

Query read_selector(std::string_view text, const std::vector<std::string> &known) {
  Parser parser(text);
  Query query;
  query.group = false;
  const std::string name = parser.name();
  for (const std::string &metric : known)
    if (!name.empty() && (metric == name || legal(metric) == name)) query.metrics.push_back(exactly(metric));
  if (!name.empty() && query.metrics.empty()) query.metrics.push_back(exactly(name));
  if (parser.take('{')) {
    while (!parser.take('}')) {
      const std::string label = parser.name();
      const std::string sign = parser.sign();
      add_matcher(query, label, sign, parser.quoted());
      if (parser.take(',')) continue;
      if (parser.take('}')) break;
      parser.wrong("\",\" or \"}\"");
    }
  }
  if (!parser.done()) parser.wrong("the end");
  if (query.metrics.empty() && query.tags.empty()) parser.wrong("a name or a matcher");
  return query;
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

int64_t patience_of(const query::Answer &answer) {
  return answer.window_ns > 0 ? std::min(2 * answer.window_ns, kLookback) : kLookback;
}

Query stretches_of(Query selector, const Steps &steps) {
  selector.kinds = query::Kinds::of_stretches;
  selector.range = {steps.from_ns - steps.step_ns, steps.to_ns};
  selector.downsample = query::Downsample{steps.step_ns, std::nullopt, query::Fill::none, steps.from_ns % steps.step_ns};
  return selector;
}

Query moments_of(Query selector, const Steps &steps) {
  selector.kinds = query::Kinds::of_moments;
  selector.range = {steps.from_ns - kLookback, steps.to_ns};
  return selector;
}

std::vector<Step> at_steps(const std::vector<query::Point> &points, const Steps &steps, int64_t patience_ns) {
  std::vector<Step> result;
  size_t next = 0;
  const int64_t count = (steps.to_ns - steps.from_ns) / steps.step_ns;
  for (int64_t i = 0; i <= count; ++i) {
    const int64_t time = steps.from_ns + i * steps.step_ns;
    while (next < points.size() && points[next].time_ns <= time) ++next;
    if (next > 0 && points[next - 1].time_ns >= time - patience_ns) result.push_back({time, points[next - 1]});
  }
  return result;
}

double unix_seconds(int64_t time_ns) {
  const int64_t milliseconds = time_ns / 1'000'000;
  return static_cast<double>(milliseconds) / 1000;
}

void append_labels(std::string &out, std::string_view metric, const query::Tags &tags) {
  core::append_json_string(out += "{\"__name__\":", metric);
  for (const auto &[key, value] : tags) {
    core::append_json_string(out += ',', key);
    core::append_json_string(out += ':', value);
  }
  out += '}';
}

void append_step(std::string &out, const query::Answer &answer, const Step &step) {
  out += '[';
  core::append_number(out, unix_seconds(step.time_ns));
  out += ",\"";
  if (std::isfinite(step.point.value))
    query::append_value(out, answer, step.point);
  else
    out += std::isnan(step.point.value) ? "NaN" : step.point.value > 0 ? "+Inf" : "-Inf";
  out += "\"]";
}

std::string matrix_json(const std::vector<query::Answer> &answers, const Steps &steps, query::Budget &budget) {
  std::string out;
  for (const query::Answer &answer : answers) {
    const bool of_moments = !answer.info || answer.info->kind == store::Kind::total;
    const auto points = at_steps(answer.points, steps, of_moments ? patience_of(answer) : 0);
    if (points.empty()) continue;
    budget.hold(points.size());
    budget.work(points.size());
    append_labels(out += out.empty() ? "{\"metric\":" : ",{\"metric\":", answer.metric, answer.tags);
    out += ",\"values\":[";
    for (const Step &step : points) {
      if (out.back() != '[') out += ',';
      append_step(out, answer, step);
    }
    out += "]}";
  }
  return out;
}

std::string constant_json(double value, const Steps &steps) {
  std::string out = R"({"resultType":"matrix","result":[{"metric":{},"values":[)";
  const int64_t count = (steps.to_ns - steps.from_ns) / steps.step_ns;
  for (int64_t i = 0; i <= count; ++i) {
    const int64_t time = steps.from_ns + i * steps.step_ns;
    append_step(i == 0 ? out : out += ',', {}, {time, {time, value}});
  }
  return out + "]}]}";
}

Answer prometheus_error(unsigned status, std::string_view message) {
  Answer answer;
  answer.status = status;
  answer.body = "{\"status\":\"error\",\"errorType\":";
  answer.body += status == 400 ? "\"bad_data\"" : status == 422 ? "\"execution\"" : "\"internal\"";
  core::append_json_string(answer.body += ",\"error\":", message);
  answer.body += "}";
  return answer;
}

}  // namespace atalaya::serve
