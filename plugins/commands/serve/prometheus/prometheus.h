// SPDX-License-Identifier: Apache-2.0
// Selectors of Prometheus, and series at steps. Pure.
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

// "proc_cpu_user" of proc.cpu.user.
std::string legal_name(std::string_view metric);
// The series of a selector. `known`: the metrics of the store; their names may be in Prometheus' form.
query::Query query_of(const Expression &selector, const std::vector<std::string> &known);
// name{label="value",other!="x",third=~"a|b"}. Throws query::Wrong.
query::Query read_selector(std::string_view text, const std::vector<std::string> &known);

struct Steps {
  int64_t from_ns = 0, to_ns = 0, step_ns = 0;
};
// start, end, step; at most 11,000 steps. Throws query::Wrong.
Steps read_steps(const Request &request, int64_t now_ns);

// Maximum age of a value.
constexpr int64_t kLookback = 300'000'000'000;
// The samples that may have the value of a time: older ones too, so that the length of the windows is known where a single sample
// is not older than kLookback; and later ones, whose windows may contain the time.
query::Range around(int64_t from_ns, int64_t to_ns);
// The time after its last sample at which a series has ended: two of its windows; kLookback where its windows are not known.
int64_t max_age_of(const query::Answer &answer);
// The point whose window contains each step; else the last point before it, not older than `max_age_ns`.
struct Step {
  int64_t time_ns = 0;
  query::Point point;
};
std::vector<Step> at_steps(const std::vector<query::Point> &points, const Steps &steps, int64_t max_age_ns);
// What the steps have of a selector: integrals per time and amounts since the step before, and the last values of totals and of
// metrics of an unknown kind.
query::Query interval_query_of(query::Query selector, const Steps &steps);
query::Query instant_query_of(query::Query selector, const Steps &steps);

// {"__name__":"..","label":".."}
void append_labels(std::string &out, std::string_view metric, const query::Tags &tags);
// A time in seconds, to the millisecond.
double unix_seconds(int64_t time_ns);
// [seconds,"value"]
void append_step(std::string &out, const query::Answer &answer, const Step &step);
// The elements of "result" of a matrix: one per answer; answers without a value are left out. Answers of stretches have their
// values at the steps.
std::string matrix_json(const std::vector<query::Answer> &answers, const Steps &steps, query::Budget &budget);
Answer prometheus_error(unsigned status, std::string_view message);

}  // namespace atalaya::serve
