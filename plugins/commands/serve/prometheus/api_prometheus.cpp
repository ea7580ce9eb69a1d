// SPDX-License-Identifier: Apache-2.0
// The paths of Prometheus' API.
#include "core/base/now.h"
#include "core/base/text/json_writer.h"
#include "plugins/commands/serve/http/api.h"
#include "plugins/commands/serve/http/parts.h"
#include "plugins/commands/serve/prometheus/prometheus.h"
#include "plugins/commands/serve/prometheus/promql.h"
#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/pid_parts.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::serve {
namespace {

using query::Wrong;

int64_t time_or(const char *otherwise, const Request &request, const char *name) {
  const std::string text = request.text(name);
  return query::time_of(name, text.empty() ? otherwise : text, core::realtime());
}

// The parameters start and end; default: the complete range of the store.
query::Range range_of(const Request &request) {
  query::Range range;
  if (!request.text("start").empty()) range.from_ns = time_or("", request, "start") - 1;
  if (!request.text("end").empty()) range.to_ns = time_or("", request, "end");
  return range;
}

// The Prometheus type of a metric. A delta is not a counter: each value is the amount of one window.
std::string_view prometheus_type(store::Kind kind) {
  if (kind == store::Kind::unknown) return "unknown";
  return kind == store::Kind::total ? "counter" : "gauge";
}

// Its values may be integers that a double cannot represent exactly.
bool is_plain(const Expression &expression) {
  return expression.kind == Expression::Kind::selector && expression.offset_ns == 0;
}

// Prometheus treats an unknown metric as one without points.
std::vector<query::Answer> answers_to_selector(const query::Query &wanted, store::Store &store, query::Budget &budget) {
  try {
    return query::run_query(wanted, store, budget);
  } catch (const query::UnknownMetric &) {
    return {};
  }
}

}  // namespace

Answer Api::success(const std::string &data) {
  const std::string damage = store_ ? store_->take_damage() : "";
  core::JsonWriter json;
  json.object().key("status").text("success");
  if (!damage.empty()) json.key("warnings").texts(std::vector{damage});
  return {200, json.key("data").raw(data).end_object().take()};
}

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
  return prometheus_error(404, "not supported");
}

Answer Api::query_range(const Request &request) {
  const Steps steps = read_steps(request, core::realtime());
  const Part expression = read_promql(request.text("query"));
  query::Budget budget(limits_);
  if (!is_plain(*expression))
    return success(R"({"resultType":"matrix","result":[)" +
                   matrix_json(evaluated(*expression, steps, false, store(), budget).columns, steps) + "]}");
  const query::Query wanted = query_of(*expression, store().metrics());
  const auto tail = [](const std::string &damage) {
    return "]}" + (damage.empty() ? "" : ",\"warnings\":" + list_json(std::vector{damage})) + "}";
  };
  const auto parts = std::make_shared<QueryParts>(R"({"status":"success","data":{"resultType":"matrix","result":[)", tail,
                                                  request.part_points, limits_);
  for (const query::Query &one : {interval_query_of(wanted, steps), instant_query_of(wanted, steps)})
    parts->add(one, [steps](const std::vector<query::Answer> &answers, query::Budget &of_part) {
      return matrix_json(answers, steps, of_part);
    });
  return QueryParts::answer(parts, store());
}

Answer Api::instant(const Request &request) {
  const int64_t time = time_or("now", request, "time");
  const Steps step{time, time, kLookback};
  const Part expression = read_promql(request.text("query"));
  query::Budget budget(limits_);
  if (!is_plain(*expression)) {
    const PromqlResult result = evaluated(*expression, step, true, store(), budget);
    if (!result.scalar) return success(R"({"resultType":"vector","result":[)" + vector_json(result.columns, time) + "]}");
    core::JsonWriter value;  // clients send 1+1 to test the connection
    write_step(value, {}, {time, {time, result.columns.front().values.front()}});
    return success(R"({"resultType":"scalar","result":)" + value.take() + "}");
  }
  query::Query wanted = query_of(*expression, store().metrics());
  wanted.range = around(time, time);
  core::JsonWriter json;
  json.object().key("resultType").text("vector").key("result").list();
  for (const query::Answer &answer : answers_to_selector(wanted, store(), budget)) {
    const auto points = at_steps(answer.points, step, max_age_of(answer));
    if (points.empty()) continue;
    write_labels(json.object().key("metric"), answer.metric, answer.tags);
    write_step(json.key("value"), answer, points[0]);
    json.end_object();
  }
  return success(json.end_list().end_object().take());
}

// Applies `add` to the series that match[] selects in the range; returns nothing without match[]. Only the series of one match[]
// are in memory at a time.
std::optional<Api::Texts> Api::matched(const Request &request, const AddTexts &add) {
  const auto matches = request.texts("match[]");
  if (matches.empty()) return std::nullopt;
  query::Budget budget(limits_);
  const query::Range range = range_of(request);
  const std::vector<std::string> known = store().metrics();
  Texts texts;
  for (const std::string &match : matches) {
    query::Query wanted = read_selector(match, known);
    wanted.range = range;
    query::each_series(wanted, store(), budget, [&](const store::Series &one) {
      add(one, texts);
      if (texts.size() > limits_.series)
        throw query::TooMuch("more than " + std::to_string(limits_.series) + " names match; narrow match[] or the time range");
    });
  }
  return texts;
}

Answer Api::labels(const Request &request) {
  auto names = matched(request, [](const store::Series &one, Texts &texts) {
    for (const auto &tag : one.tags) texts.insert(tag.first);
  });
  if (!names) {
    names.emplace();
    for (std::string &key : store().tag_keys()) names->insert(std::move(key));
  }
  names->insert("__name__");
  return success(list_json(*names));
}

Answer Api::label_values(const Request &request, const std::string &label) {
  const auto values = matched(request, [&](const store::Series &one, Texts &texts) {
    const auto tag = one.tags.find(label);
    if (label == "__name__")
      texts.insert(legal_name(one.metric));
    else if (tag != one.tags.end())
      texts.insert(tag->second);
  });
  if (!values && label != "__name__") return success(list_json(store().tag_values(label)));
  if (!values) {
    Texts names;
    for (const std::string &metric : store().metrics()) names.insert(legal_name(metric));
    return success(list_json(names));
  }
  return success(list_json(*values));
}

Answer Api::metadata() {
  core::JsonWriter json;
  json.object();
  for (const auto &[metric, info] : store().catalogue()) {
    json.key(legal_name(metric)).list().object().key("type").text(prometheus_type(info->kind));
    json.key("help").text(info->summary).key("unit").text(info->unit).end_object().end_list();
  }
  return success(json.end_object().take());
}

Answer Api::series(const Request &request) {
  const auto found = matched(request, [](const store::Series &one, Texts &texts) {
    core::JsonWriter labels;
    write_labels(labels, one.metric, one.tags);
    texts.insert(labels.take());
  });
  if (!found) throw Wrong("parameter match[] is missing");
  core::JsonWriter json;
  json.list();
  for (const std::string &labels : *found) json.raw(labels);
  return success(json.end_list().take());
}

}  // namespace atalaya::serve
