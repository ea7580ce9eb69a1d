// SPDX-License-Identifier: Apache-2.0
// Prometheus' paths.
#include <iterator>
#include <set>

#include "core/sample/json.h"
#include "core/util/now.h"
#include "plugins/commands/serve/api.h"
#include "plugins/commands/serve/prometheus.h"
#include "plugins/query/engine.h"
#include "plugins/query/formula.h"
#include "plugins/query/metric_info.h"
#include "plugins/query/pieces.h"

namespace atalaya::serve {
namespace {

using query::Wrong;

int64_t time_or(const char *otherwise, const Request &request, const char *name) {
  const std::string text = request.text(name);
  return query::time_of(name, text.empty() ? otherwise : text, core::realtime());
}

// Prometheus' start and end; all of the time without them.
query::Range range_of(const Request &request) {
  query::Range range;
  if (!request.text("start").empty()) range.from_ns = time_or("", request, "start") - 1;
  if (!request.text("end").empty()) range.to_ns = time_or("", request, "end");
  return range;
}

Answer success(const std::string &data) {
  return {200, "{\"status\":\"success\",\"data\":" + data + "}"};
}

// To Prometheus a metric that nobody has written is one without points.
std::vector<query::Answer> answers_to_selector(const query::Query &wanted, store::Store &store, query::Budget &budget) {
  try {
    return query::answers_to(wanted, store, budget);
  } catch (const query::UnknownMetric &) {
    return {};
  }
}

}  // namespace

Answer Api::prometheus(const Request &request) {
  const std::string_view path = std::string_view(request.path).substr(8);
  constexpr std::string_view kLabel = "label/", kValues = "/values";
  if (path == "query_range") return query_range(request);
  if (path == "query") return instant(request);
  if (path == "labels") return labels(request);
  if (path == "series") return series(request);
  if (path == "metadata") return metadata();
  if (path.starts_with(kLabel) && path.ends_with(kValues) && path.size() > kLabel.size() + kValues.size())
    return label_values(request, std::string(path.substr(kLabel.size(), path.size() - kLabel.size() - kValues.size())));
  return prometheus_error(404, "not served here");
}

Answer Api::query_range(const Request &request) {
  const Steps steps = read_steps(request, core::realtime());
  query::Query wanted = read_selector(request.text("query"), store().metrics());
  wanted.range = {steps.from_ns - kLookback, steps.to_ns};
  query::Budget budget(limits_);
  const auto answers = answers_to_selector(wanted, store(), budget);
  return success("{\"resultType\":\"matrix\",\"result\":[" + matrix_json(answers, steps, budget) + "]}");
}

Answer Api::instant(const Request &request) {
  const int64_t time = time_or("now", request, "time");
  const Steps step{time, time, kLookback};
  if (const auto number = query::constant_of(request.text("query"))) {  // Grafana asks for 1+1 to see who answers
    std::string value;
    append_step(value, {}, {time, {time, *number}});
    return success("{\"resultType\":\"scalar\",\"result\":" + value + "}");
  }
  query::Query wanted = read_selector(request.text("query"), store().metrics());
  wanted.range = {time - kLookback, time};
  std::string out = "{\"resultType\":\"vector\",\"result\":[";
  query::Budget budget(limits_);
  for (const query::Answer &answer : answers_to_selector(wanted, store(), budget)) {
    const auto points = at_steps(answer.points, step);
    if (points.empty()) continue;
    append_labels(out += out.back() == '[' ? "{\"metric\":" : ",{\"metric\":", answer.metric, answer.tags);
    append_step(out += ",\"value\":", answer, points[0]);
    out += '}';
  }
  return success(out + "]}");
}

// What match[] selects in the time; nothing without match[].
std::optional<std::vector<store::Series>> Api::matched(const Request &request) {
  const auto matches = request.texts("match[]");
  if (matches.empty()) return std::nullopt;
  query::Budget budget(limits_);
  const query::Range range = range_of(request);
  std::vector<store::Series> found;
  for (const std::string &match : matches) {
    query::Query wanted = read_selector(match, store().metrics());
    wanted.range = range;
    try {
      auto some = query::selected(wanted, store(), budget);
      std::move(some.begin(), some.end(), std::back_inserter(found));
    } catch (const query::UnknownMetric &) {
      continue;
    }
  }
  return found;
}

Answer Api::labels(const Request &request) {
  std::set<std::string> names;
  if (const auto found = matched(request)) {
    for (const store::Series &one : *found)
      for (const auto &tag : one.tags) names.insert(tag.first);
  } else {
    for (std::string &key : store().tag_keys()) names.insert(std::move(key));
  }
  names.insert("__name__");
  return success(list_json({names.begin(), names.end()}));
}

Answer Api::label_values(const Request &request, const std::string &label) {
  const auto found = matched(request);
  if (!found) return success(list_json(label == "__name__" ? store().metrics() : store().tag_values(label)));
  std::set<std::string> values;
  for (const store::Series &one : *found) {
    const auto tag = one.tags.find(label);
    if (label == "__name__")
      values.insert(one.metric);
    else if (tag != one.tags.end())
      values.insert(tag->second);
  }
  return success(list_json({values.begin(), values.end()}));
}

Answer Api::metadata() {
  std::string out = "{";
  for (const std::string &metric : store().metrics()) {
    const query::MetricInfo &info = query::metric_info(metric);
    core::append_json_string(out.size() > 1 ? out += ',' : out, metric);
    out += info.kind == query::Kind::total ? ":[{\"type\":\"counter\",\"help\":\"\"" : ":[{\"type\":\"gauge\",\"help\":\"\"";
    core::append_json_string(out += ",\"unit\":", info.unit);
    out += "}]";
  }
  return success(out + "}");
}

Answer Api::series(const Request &request) {
  const auto matches = matched(request);
  if (!matches) throw Wrong("parameter match[] is missing");
  std::set<std::string> found;
  for (const store::Series &one : *matches) {
    std::string text;
    append_labels(text, one.metric, one.tags);
    found.insert(std::move(text));
  }
  std::string out = "[";
  for (const std::string &text : found) out += (out.size() > 1 ? "," : "") + text;
  return success(out + "]");
}

}  // namespace atalaya::serve
