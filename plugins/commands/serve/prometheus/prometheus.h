// SPDX-License-Identifier: Apache-2.0
// Parses selectors of Prometheus and computes values at steps. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/commands/serve/http/request.h"
#include "plugins/commands/serve/prometheus/promql_syntax.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::serve {

// The metric name in Prometheus' alphabet: "proc_cpu_user" for proc.cpu.user.
std::string legal_name(std::string_view metric);
// Converts a selector to a query. `known`: the metrics of the store; the selector may have their names in Prometheus' alphabet.
query::Query query_of(const Expression &selector, const std::vector<std::string> &known);
// Parses name{label="value",other!="x",third=~"a|b"}. Throws query::Wrong.
query::Query read_selector(std::string_view text, const std::vector<std::string> &known);

struct Steps {
  int64_t from_ns = 0, to_ns = 0, step_ns = 0;
};
// Parses the parameters start, end and step; maximum 11,000 steps. Throws query::Wrong.
Steps read_steps(const Request &request, int64_t now_ns);

// Maximum age of a value, if the windows of its series are unknown.
constexpr int64_t kLookback = 300'000'000'000;
// The range to read for values at from_ns to to_ns. It starts earlier, to have the samples up to kLookback and the length of their
// windows, and ends later, because the window of a later sample may contain to_ns.
query::Range around(int64_t from_ns, int64_t to_ns);
// The time after its last sample at which a series has ended: two of its windows, or kLookback if the windows are unknown.
int64_t max_age_of(const query::Answer &answer);
// For each step: the point whose window contains it, or else the last point before it that is at most `max_age_ns` old.
struct Step {
  int64_t time_ns = 0;
  query::Point point;
};
std::vector<Step> at_steps(const std::vector<query::Point> &points, const Steps &steps, int64_t max_age_ns);
// Queries for the values of a selector at steps. interval_query_of: metrics with windows, as averages or sums over the time since
// the previous step. instant_query_of: totals and metrics of an unknown kind, as their last values.
query::Query interval_query_of(query::Query selector, const Steps &steps);
query::Query instant_query_of(query::Query selector, const Steps &steps);

// Writes the labels of a series: {"__name__":"..","label":".."}
void write_labels(core::JsonWriter &json, std::string_view metric, const query::Tags &tags);
// The time in seconds, rounded to a millisecond.
double unix_seconds(int64_t time_ns);
// Writes a value at a step: [seconds,"value"]
void write_step(core::JsonWriter &json, const query::Answer &answer, const Step &step);
// The elements of "result" of a matrix: one per answer with at least one value. Answers of interval_query_of have their values at
// the steps.
std::string matrix_json(const std::vector<query::Answer> &answers, const Steps &steps, query::Budget &budget);
Answer prometheus_error(unsigned status, std::string_view message);

}  // namespace atalaya::serve
