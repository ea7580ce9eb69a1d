// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/prometheus/promql.h"

#include <algorithm>
#include <utility>

#include "core/base/text/json_writer.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/store/query/engine.h"

namespace atalaya::serve {
namespace {

size_t count_of(const Steps &steps) {
  return static_cast<size_t>((steps.to_ns - steps.from_ns) / steps.step_ns) + 1;
}

query::Tags labels_of(const query::Answer &answer) {
  query::Tags labels;
  for (const auto &[key, value] : answer.tags) labels.emplace(legal_name(key), value);
  labels[kNameLabel] = legal_name(answer.metric);
  return labels;
}

class Evaluation {
 public:
  Evaluation(const Steps &steps, bool instant, store::Store &store, query::Budget &budget)
      : steps_(steps), instant_(instant), store_(store), budget_(budget), known_(store.metrics()) {}

  // A number is a column without labels.
  Columns value(const Expression &expression) {
    switch (expression.kind) {
      case Expression::Kind::number:
        return {constant(expression.number)};
      case Expression::Kind::selector:
        return selected(expression);
      case Expression::Kind::negation:
        return negated(value(*expression.parts.front()));
      case Expression::Kind::aggregation:
        return aggregation(expression);
      case Expression::Kind::call:
        return call(expression);
      case Expression::Kind::binary:
        break;
    }
    return binary(expression);
  }

 private:
  Column constant(double number) const { return {{}, std::vector<double>(count_of(steps_), number)}; }

  static Columns negated(Columns columns) {
    for (Column &column : columns) {
      for (double &value : column.values)
        if (!is_absent(value)) value = -value;
      column.labels.erase(kNameLabel);
    }
    return columns;
  }

  Columns aggregation(const Expression &expression) {
    std::vector<double> counts;
    if (expression.parts.size() > 1) counts = std::move(value(*expression.parts.front()).front().values);
    Columns columns = value(*expression.parts.back());
    const size_t held = columns.size() * count_of(steps_);
    const bool keeps = expression.word == "topk";
    Columns result = aggregated(expression, std::move(columns), counts, budget_);
    if (!keeps) budget_.release(held);
    return result;
  }

  Columns binary(const Expression &expression) {
    const bool number_left = expression.parts[0]->type == ValueType::scalar;
    const bool number_right = expression.parts[1]->type == ValueType::scalar;
    Columns left = value(*expression.parts[0]), right = value(*expression.parts[1]);
    if (number_left && number_right) {
      for (size_t i = 0; i < left.front().values.size(); ++i)
        left.front().values[i] = calculated(expression.word, left.front().values[i], right.front().values[i]);
      return left;
    }
    if (number_left) return combined(expression, std::move(right), left.front().values, true);
    if (number_right) return combined(expression, std::move(left), right.front().values, false);
    return combined(expression, left, right, budget_);
  }

  std::vector<query::Answer> answers(const query::Query &wanted) {
    try {
      return query::run_query(wanted, store_, budget_);
    } catch (const query::UnknownMetric &) {
      return {};
    }
  }

  void add(Columns &columns, const query::Answer &answer, const std::vector<double> &values) {
    budget_.reserve(values.size());
    columns.push_back({labels_of(answer), values});
  }

  Steps moved(int64_t offset_ns) const { return {steps_.from_ns - offset_ns, steps_.to_ns - offset_ns, steps_.step_ns}; }

  // The last value before each step, not older than max_age_of(answer).
  void add_values(Columns &columns, const std::vector<query::Answer> &from, const Steps &steps, bool whole_steps) {
    for (const query::Answer &answer : from) {
      std::vector<double> values(count_of(steps), absent());
      const auto found = at_steps(answer.points, steps, whole_steps ? 0 : max_age_of(answer));
      if (found.empty()) continue;
      for (const Step &step : found) values[static_cast<size_t>((step.time_ns - steps.from_ns) / steps.step_ns)] = step.point.value;
      add(columns, answer, values);
    }
    query::release(from, budget_);
  }

  Columns selected(const Expression &expression) {
    const query::Query selector = query_of(expression, known_);
    const Steps steps = moved(expression.offset_ns);
    Columns columns;
    if (instant_) {
      query::Query wanted = selector;
      wanted.range = around(steps.from_ns, steps.to_ns);
      add_values(columns, answers(wanted), steps, false);
      return columns;
    }
    add_values(columns, answers(interval_query_of(selector, steps)), steps, true);
    add_values(columns, answers(instant_query_of(selector, steps)), steps, false);
    return columns;
  }

  Columns call(const Expression &expression) {
    const Expression &selector = *expression.parts.front();
    const Steps steps = moved(selector.offset_ns);
    query::Query wanted = query_of(selector, known_);
    wanted.range = {steps.from_ns - selector.range_ns, steps.to_ns + kLookback};
    Columns columns;
    const auto found = answers(wanted);
    for (const query::Answer &answer : found) {
      const std::vector<double> values = over_time(expression.word, answer.points, steps, selector.range_ns, budget_);
      if (std::all_of(values.begin(), values.end(), is_absent)) continue;
      add(columns, answer, values);
      if (expression.word != "last_over_time") columns.back().labels.erase(kNameLabel);
    }
    query::release(found, budget_);
    return columns;
  }

  const Steps steps_;
  const bool instant_;
  store::Store &store_;
  query::Budget &budget_;
  const std::vector<std::string> known_;
};

void write_at(core::JsonWriter &json, int64_t time_ns, double value) {
  write_step(json, {}, {time_ns, {time_ns, value}});
}

}  // namespace

PromqlResult evaluated(const Expression &expression, const Steps &steps, bool instant, store::Store &store, query::Budget &budget) {
  PromqlResult result{expression.type == ValueType::scalar, Evaluation(steps, instant, store, budget).value(expression)};
  // In descending order of values.
  if (instant && expression.word == "topk")
    std::stable_sort(result.columns.begin(), result.columns.end(),
                     [](const Column &a, const Column &b) { return a.values.front() > b.values.front(); });
  return result;
}

std::string matrix_json(const Columns &columns, const Steps &steps) {
  core::JsonWriter json;
  for (const Column &column : columns) {
    if (std::all_of(column.values.begin(), column.values.end(), is_absent)) continue;
    json.object().key("metric").members(column.labels).key("values").list();
    for (size_t i = 0; i < column.values.size(); ++i)
      if (!is_absent(column.values[i])) write_at(json, steps.from_ns + static_cast<int64_t>(i) * steps.step_ns, column.values[i]);
    json.end_list().end_object();
  }
  return json.take();
}

std::string vector_json(const Columns &columns, int64_t time_ns) {
  core::JsonWriter json;
  for (const Column &column : columns) {
    if (is_absent(column.values.front())) continue;
    json.object().key("metric").members(column.labels);
    write_at(json.key("value"), time_ns, column.values.front());
    json.end_object();
  }
  return json.take();
}

}  // namespace atalaya::serve
