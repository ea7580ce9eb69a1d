// SPDX-License-Identifier: Apache-2.0
// The rules of the parameter `rules` of a pipeline file.
#pragma once

#include <atalaya/plugin.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/io/match/matcher.h"

namespace atalaya::alerts {

// The number that is compared with the limit.
enum class Use { value, mean, max, sum, rate, forecast, anomaly, peers };
enum class Combine { sum, max, min, mean };

// The texts of an alert are tags of its span: the closed span has the same texts as the open one, even if the rule has changed.
struct Texts {
  std::string severity, summary, advice;
};

struct Rule {
  std::string name, metric, per;
  Texts texts;
  Use use = Use::value;
  Combine combine = Combine::sum;
  std::vector<std::string> by;  // tags of one alert; empty: one alert per series
  std::vector<std::pair<std::string, io::MatcherList>> tags;
  std::optional<double> above, below;
  double clear = 0;                   // a firing alert ends at this limit
  int64_t lasts_ns = 0, keep_ns = 0;  // time with the condition before the start, and without it before the end
  int64_t over_ns = 0, ahead_ns = 0;  // parameters of `use`
  int64_t absent_ns = 0;              // an absence rule fires after this time without a sample; 0: no absence rule
  int64_t ended_after_ns = 0;         // a series ends after this time without a sample
  bool is_level = false;              // the metric, or its ratio, is not a counter: a decrease is not a reset

  bool is_absence() const { return absent_ns > 0; }
  bool has_history() const { return use != Use::value && use != Use::peers; }
  // A series is removed after this time without a sample.
  int64_t forget_ns() const { return use == Use::sum ? std::max(ended_after_ns, over_ns) : ended_after_ns; }
  double limit() const { return above ? *above : below.value_or(0); }
  std::optional<double> shown_limit() const { return is_absence() ? std::nullopt : std::optional(limit()); }
  bool is_beyond(double value) const { return above ? value > *above : below && value < *below; }
  bool is_clear(double value) const { return above ? value <= clear : value >= clear; }
};

inline constexpr Param kRuleText[] = {param::string("", "A tag").unit("tag")};
inline constexpr Param kRulePattern[] = {param::string("", "Pattern of the value")};
inline constexpr Param kRuleMembers[] = {
    param::string("name", "Name of the alert, unique in the list").required(),
    param::string("metric", "Metric of the rule").unit("metric").required(),
    param::string("per", "Metric by which `metric` is divided, of the same tags; the value is then in %").unit("metric"),
    param::choice("use", "value|mean|max|sum|rate|forecast|anomaly|peers",
                  "Number that is compared: value: the sample's; mean, max, sum: of the last `over`; rate: change per second in "
                  "`over`; forecast: value after `ahead`, by the line through the last `over`; anomaly: distance from the usual "
                  "value of the last `over`, in usual distances; peers: value divided by the median of all groups")
        .defaults("value"),
    param::duration("over", "Time that `use` looks back").defaults("10m").range(1e9, 604800e9),
    param::duration("ahead", "Time that a forecast looks ahead").defaults("4h").range(1e9, 31536000e9),
    param::number("above", "The alert fires above this limit"),
    param::number("below", "The alert fires below this limit"),
    param::number("clear", "Limit at which a firing alert ends (default: above or below)"),
    param::duration("absent", "The alert fires after this time without a sample").range(1e9, 31536000e9),
    param::duration("lasts", "Time that the condition must last before the alert fires").defaults("0s").range(0, 31536000e9),
    param::duration("keep", "Time without the condition before a firing alert ends").defaults("0s").range(0, 31536000e9),
    param::duration("gone", "Time without a sample after which a series has ended; its alert ends")
        .defaults("5m")
        .range(1e9, 31536000e9),
    param::list("by", kRuleText, "Tags of one alert: series with equal tags are combined (default: each series alone)"),
    param::choice("combine", "sum|max|min|mean", "Function that combines the series of one alert in a window").defaults("sum"),
    param::map("tags", kRulePattern, "Only series with these tags").unit("tag"),
    param::choice("severity", "info|warning|critical", "Severity of the alert").defaults("warning"),
    param::string("summary", "One sentence about the problem"),
    param::string("advice", "One sentence about the next step"),
};

// Reads the parameter `rules`. Throws Failure with the position and the name of an invalid rule.
std::vector<Rule> read_rules(Host host);

}  // namespace atalaya::alerts
