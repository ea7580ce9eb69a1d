// SPDX-License-Identifier: Apache-2.0
// The parameters that commands which read have in common, word for word: one by one, and as the lists that belong together.
#pragma once

#include <algorithm>
#include <array>
#include <atalaya/plugin.hpp>

namespace atalaya::query {

using namespace atalaya::literals;

inline constexpr Param kText[] = {{.name = "item"_str, .type = ATALAYA_STRING, .summary = "One of them."_str}};

inline constexpr Param kStore = {
    .name = "store"_str,
    .type = ATALAYA_STRING,
    .unit = "STORE"_str,
    .summary =
        "What is read: a path, sqlite:PATH or clickhouse:http://HOST:8123/DATABASE; without it $ATALAYA_STORE, else the agent's."_str};
// Of commands that work on an embedded store only.
inline constexpr Param kEmbeddedStore = {
    .name = "store"_str,
    .type = ATALAYA_STRING,
    .unit = "STORE"_str,
    .summary = "The embedded store: a path or sqlite:PATH; without it $ATALAYA_STORE, else the agent's."_str};
// `flags`: ATALAYA_REQUIRED where a question without it makes no sense.
constexpr Param metric_param(uint32_t flags) {
  return {.name = "metric"_str,
          .type = ATALAYA_LIST,
          .flags = flags,
          .unit = "NAME"_str,
          .summary = "A metric, or a pattern of names such as \"proc.cpu.*\"."_str,
          .items = kText,
          .item_count = 1,
          .item_size = sizeof(Param)};
}
inline constexpr Param kTag = {
    .name = "tag"_str,
    .type = ATALAYA_LIST,
    .unit = "KEY=VALUE"_str,
    .summary =
        "Only series with this tag: a text, a glob, ~regex, or ! before any of them; several of one key mean any of them."_str,
    .items = kText,
    .item_count = 1,
    .item_size = sizeof(Param)};
inline constexpr Param kFrom = {
    .name = "from"_str,
    .type = ATALAYA_STRING,
    .unit = "TIME"_str,
    .summary =
        "Begin of the time, without it: -1h. Times are now, -1h, RFC 3339, Unix seconds or milliseconds, 2026/11/21-10:00:00."_str};
inline constexpr Param kTo = {
    .name = "to"_str, .type = ATALAYA_STRING, .unit = "TIME"_str, .summary = "End of the time, without it: now."_str};
inline constexpr Param kExperiment = {.name = "experiment"_str,
                                      .type = ATALAYA_STRING,
                                      .unit = "NAME"_str,
                                      .summary = "The time of this experiment, instead of --from and --to."_str};
inline constexpr Param kWorkload = {.name = "workload"_str,
                                    .type = ATALAYA_STRING,
                                    .unit = "NAME"_str,
                                    .summary = "The time of this workload of the experiment."_str};
inline constexpr Param kAggregate = {
    .name = "aggregate"_str,
    .type = ATALAYA_STRING,
    .default_text = "zimsum"_str,
    .unit = "FUNCTION"_str,
    .summary = "What becomes of several series: zimsum, sum, avg, min, max, mimmin, mimmax, count, dev, median, p95, none."_str};
inline constexpr Param kEvery = {
    .name = "every"_str,
    .type = ATALAYA_STRING,
    .unit = "TIME[-FUNCTION[-FILL]]"_str,
    .summary =
        "A value for each such time, \"5s\" or \"1m-max-null\"; without a function the sum of deltas and the average of the rest."_str};
inline constexpr Param kGroupBy = {.name = "group_by"_str,
                                   .type = ATALAYA_LIST,
                                   .unit = "KEY,..."_str,
                                   .summary = "Tags whose values are answered one by one; * for all of them."_str,
                                   .items = kText,
                                   .item_count = 1,
                                   .item_size = sizeof(Param)};
inline constexpr Param kRate = {
    .name = "rate"_str,
    .type = ATALAYA_BOOL,
    .summary = "The change per second of a counter; where it goes down it was reset, which leaves a gap."_str};
inline constexpr Param kTop = {.name = "top"_str,
                               .type = ATALAYA_INT,
                               .flags = ATALAYA_BOUNDED,
                               .summary = "Only so many answers of each metric, those with the largest averages."_str,
                               .min = 1,
                               .max = 1e6};
inline constexpr Param kFormula = {
    .name = "formula"_str,
    .type = ATALAYA_STRING,
    .unit = "FORMULA"_str,
    .summary = "Arithmetic between the metrics: a is the first --metric, b the second, as in \"a / b * 100\"."_str};
inline constexpr Param kMaxPoints = {.name = "max_points"_str,
                                     .type = ATALAYA_INT,
                                     .flags = ATALAYA_BOUNDED,
                                     .default_text = "10000000"_str,
                                     .summary = "A question that needs more points at a time ends with an error."_str,
                                     .min = 1,
                                     .max = 1e10};
inline constexpr Param kTimeout = {.name = "timeout"_str,
                                   .type = ATALAYA_DURATION,
                                   .flags = ATALAYA_BOUNDED,
                                   .default_text = "1m"_str,
                                   .summary = "A question that takes longer ends with an error."_str,
                                   .min = 1e6,
                                   .max = 8.64e13};

// Several lists as one.
template <size_t... Sizes>
constexpr auto joined(const std::array<Param, Sizes> &...lists) {
  std::array<Param, (Sizes + ...)> all{};
  auto *next = all.begin();
  ((next = std::copy(lists.begin(), lists.end(), next)), ...);
  return all;
}

// What Reading needs: a time, and a store with limits.
inline constexpr std::array kWindowParams = {kFrom, kTo, kExperiment, kWorkload};
inline constexpr std::array kStoreParams = {kStore, kMaxPoints, kTimeout};
// What read_question reads, and the time.
inline constexpr auto kQuestionParams = joined(std::array{metric_param(ATALAYA_REQUIRED), kTag}, kWindowParams,
                                               std::array{kAggregate, kEvery, kGroupBy, kRate, kFormula, kTop});

}  // namespace atalaya::query
