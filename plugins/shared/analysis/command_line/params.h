// SPDX-License-Identifier: Apache-2.0
// The parameters that several commands have, so that all describe them with the same words: single ones, and related ones in lists.
#pragma once

#include <algorithm>
#include <array>
#include <atalaya/plugin.hpp>

namespace atalaya::command_line {

using namespace atalaya::literals;

inline constexpr Param kText[] = {param::string("item", "An element")};

inline constexpr Param kStore = param::string("store",
                                              "Path, sqlite:PATH or clickhouse:http://HOST:8123/DATABASE "
                                              "(default: $ATALAYA_STORE, else the agent's store)")
                                    .unit("STORE");
// For commands that only read.
inline constexpr Param kStores = param::list("store", kText,
                                             "Path, sqlite:PATH or clickhouse:http://HOST:8123/DATABASE; several are read as "
                                             "one (default: $ATALAYA_STORE, else the agent's store)")
                                     .unit("STORE");
// For commands that read embedded stores only.
inline constexpr Param kEmbeddedStore =
    param::string("store", "Embedded store: path or sqlite:PATH (default: $ATALAYA_STORE, else the agent's store)").unit("STORE");
// `flags`: ATALAYA_REQUIRED if the command cannot work without a metric.
constexpr Param metric_param(uint32_t flags) {
  const auto metric = param::list("metric", kText, "Metric name, or a pattern such as \"proc.cpu.*\"").unit("NAME");
  return (flags & ATALAYA_REQUIRED) != 0 ? metric.required() : metric;
}
inline constexpr Param kTag = param::list("tag", kText,
                                          "Only series with this tag: text, glob or ~regex; ! negates. "
                                          "Several values of one key mean any of them")
                                  .unit("KEY=VALUE");
inline constexpr Param kFrom = param::string("from",
                                             "Start of the range (default: -1h): now, 10m (ago), today, yesterday, "
                                             "05:08 (the last), RFC 3339, Unix seconds or milliseconds, "
                                             "2026/11/21-10:00:00, or EXPERIMENT+2m (after its start)")
                                   .unit("TIME");
inline constexpr Param kTo = param::string("to", "End of the range (default: now)").unit("TIME");
inline constexpr Param kExperiment =
    param::string("experiment", "Time range of this experiment, instead of --from and --to").unit("NAME");
inline constexpr Param kWorkload = param::string("workload", "Time range of this workload of the experiment").unit("NAME");
inline constexpr Param kAggregate =
    param::string("aggregate",
                  "Function that combines series: zimsum, sum, avg, min, max, mimmin, mimmax, count, dev, median, p95, none")
        .defaults("zimsum")
        .unit("FUNCTION");
inline constexpr Param kEvery = param::string("every",
                                              "Downsample to this interval, such as \"5s\" or \"1m-max-null\" "
                                              "(default: amount of deltas, last total, time average of the rest)")
                                    .unit("TIME[-FUNCTION[-FILL]]");
inline constexpr Param kGroupBy = param::list("group_by", kText, "Tags to group by; * for all tags").unit("KEY,...");
inline constexpr Param kRate = param::boolean("rate", "Change of a counter per second; a reset leaves a gap");
inline constexpr Param kTop = param::integer("top", "Maximum series per metric, those with the largest integrals").range(1, 1e6);
inline constexpr Param kTotal =
    param::boolean("total", "The amount of the range instead of points: core-seconds, MiB-hours, bytes; as in a report");
inline constexpr Param kFormula =
    param::string("formula", "Arithmetic on the metrics: a is the first --metric, b the second, as in \"a / b * 100\"")
        .unit("FORMULA");
inline constexpr Param kMaxPoints =
    param::integer("max_points", "Maximum points in memory; a query that needs more fails").defaults("10000000").range(1, 1e10);
inline constexpr Param kTimeout = param::duration("timeout", "Time limit of a query").defaults("1m").range(1e6, 8.64e13);

// Returns a command's own parameters as a list for `joined`.
template <class... Params>
constexpr std::array<Param, sizeof...(Params)> listed(const Params &...params) {
  return {{static_cast<Param>(params)...}};
}

// Concatenates lists.
template <size_t... Sizes>
constexpr auto joined(const std::array<Param, Sizes> &...lists) {
  std::array<Param, (Sizes + ...)> all{};
  auto *next = all.begin();
  ((next = std::copy(lists.begin(), lists.end(), next)), ...);
  return all;
}

// The parameters of the time range.
inline constexpr std::array kWindowParams = {kFrom, kTo, kExperiment, kWorkload};
// The parameters of the store and of a query's limits.
inline constexpr std::array kStoreParams = {kStores, kMaxPoints, kTimeout};
// The parameters of read_question, and the time range.
inline constexpr auto kQuestionParams = joined(listed(metric_param(ATALAYA_REQUIRED), kTag), kWindowParams,
                                               listed(kAggregate, kEvery, kGroupBy, kRate, kFormula, kTop));

}  // namespace atalaya::command_line
