// SPDX-License-Identifier: Apache-2.0
// Common parameters of the commands that read a store, single and as lists.
#pragma once

#include <algorithm>
#include <array>
#include <atalaya/plugin.hpp>

namespace atalaya::query {

using namespace atalaya::literals;

inline constexpr Param kText[] = {param::string("item", "One of them")};

inline constexpr Param kStore = param::string("store",
                                              "The store: a path, sqlite:PATH or clickhouse:http://HOST:8123/DATABASE (default: "
                                              "$ATALAYA_STORE, else the agent's)")
                                    .unit("STORE");
// Of commands that work on an embedded store only.
inline constexpr Param kEmbeddedStore =
    param::string("store", "The embedded store: a path or sqlite:PATH (default: $ATALAYA_STORE, else the agent's)").unit("STORE");
// `flags`: ATALAYA_REQUIRED if a query makes no sense without a metric.
constexpr Param metric_param(uint32_t flags) {
  Param metric = param::list("metric", kText, "A metric, or a pattern of names such as \"proc.cpu.*\"").unit("NAME");
  metric.flags |= flags;
  return metric;
}
inline constexpr Param kTag =
    param::list("tag", kText, "Only series with this tag: a text, a glob, ~regex, or ! before them; several of one key mean any of them")
        .unit("KEY=VALUE");
inline constexpr Param kFrom =
    param::string("from",
                  "Start of the range (default: -1h). Times are now, -1h, RFC 3339, Unix seconds or milliseconds, 2026/11/21-10:00:00")
        .unit("TIME");
inline constexpr Param kTo = param::string("to", "End of the range (default: now)").unit("TIME");
inline constexpr Param kExperiment = param::string("experiment", "The time of this experiment, instead of --from and --to").unit("NAME");
inline constexpr Param kWorkload = param::string("workload", "The time of this workload of the experiment").unit("NAME");
inline constexpr Param kAggregate =
    param::string("aggregate", "Function over several series: zimsum, sum, avg, min, max, mimmin, mimmax, count, dev, median, p95, none")
        .defaults("zimsum")
        .unit("FUNCTION");
inline constexpr Param kEvery =
    param::string("every", "Interval of the values: \"5s\", \"1m-max-null\"; default function: sum of deltas, average of the rest")
        .unit("TIME[-FUNCTION[-FILL]]");
inline constexpr Param kGroupBy = param::list("group_by", kText, "One answer per value of these tags; * for all tags").unit("KEY,...");
inline constexpr Param kRate = param::boolean("rate", "Change per second of a counter; a decrease is a reset, which leaves a gap");
inline constexpr Param kTop =
    param::integer("top", "Maximum series per metric: those with the largest averages").range(1, 1e6);
inline constexpr Param kFormula =
    param::string("formula", "Arithmetic between the metrics: a is the first --metric, b the second, as in \"a / b * 100\"")
        .unit("FORMULA");
inline constexpr Param kMaxPoints =
    param::integer("max_points", "Maximum points in memory; a query that needs more fails").defaults("10000000").range(1, 1e10);
inline constexpr Param kTimeout = param::duration("timeout", "Maximum time of a query; a longer one fails").defaults("1m").range(1e6, 8.64e13);

// Several lists as one.
template <size_t... Sizes>
constexpr auto joined(const std::array<Param, Sizes> &...lists) {
  std::array<Param, (Sizes + ...)> all{};
  auto *next = all.begin();
  ((next = std::copy(lists.begin(), lists.end(), next)), ...);
  return all;
}

// For Reading: a range, and a store with limits.
inline constexpr std::array kWindowParams = {kFrom, kTo, kExperiment, kWorkload};
inline constexpr std::array kStoreParams = {kStore, kMaxPoints, kTimeout};
// For read_question, and the range.
inline constexpr auto kQuestionParams = joined(std::array{metric_param(ATALAYA_REQUIRED), kTag}, kWindowParams,
                                               std::array{kAggregate, kEvery, kGroupBy, kRate, kFormula, kTop});

}  // namespace atalaya::query
