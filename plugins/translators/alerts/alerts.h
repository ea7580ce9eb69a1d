// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/shared/io/samples/identity.h"
#include "plugins/shared/io/samples/own_cost.h"
#include "plugins/shared/io/samples/per_name.h"
#include "plugins/translators/alerts/alarm.h"
#include "plugins/translators/alerts/gaps.h"
#include "plugins/translators/alerts/history.h"
#include "plugins/translators/alerts/journal.h"
#include "plugins/translators/alerts/rules.h"
#include "plugins/translators/alerts/silences.h"

namespace atalaya::alerts {

inline constexpr MetricTag kAlertTags[] = {metric::identity("host"), metric::identity("alert"), metric::identity("severity")};

// Compares metrics with rules. A firing alert is emitted as an open span "alert", and as a closed span when it ends.
class Alerts final : public Translator {
 public:
  static constexpr Param kRule[] = {param::record("", kRuleMembers, "A rule")};
  static constexpr Param kSilence[] = {param::record("", kSilenceMembers, "A silence")};
  static constexpr Param kParams[] = {
      param::list("rules", kRule, "Rules; docs/how-to/alerts.md explains them"),
      param::list("silences", kSilence, "Alerts that are not reported for a time"),
      param::duration("repeat", "Interval at which firing alerts are emitted again").defaults("1m").range(1e9, 86400e9),
      param::integer("max_series", "Maximum series of all rules; further ones are not compared")
          .defaults("100000")
          .range(1, 150000),
      param::boolean("samples", "Pass the samples and the metrics of the translator, too; false: only alerts").defaults("true"),
  };
  static constexpr Metric kMetrics[] = {
      metric::gauge("alert.value", "1", 6, kAlertTags, "the rule", "The number that the rule compares, in the unit of its metric"),
      metric::gauge("alert.limit", "1", 6, kAlertTags, "the rule", "The limit of the rule"),
      metric::gauge("alerts.firing", "1", metric::count, metric::host_tags, "the rules", "Firing alerts"),
      metric::delta("alerts.opened", "1", metric::count, metric::host_tags, "the rules", "Alerts that began to fire in the window"),
      metric::gauge("alerts.series", "1", metric::count, metric::host_tags, "the rules", "Series that rules compare"),
      metric::delta("alerts.lost", "1", metric::count, metric::host_tags, "max_series", "Samples of series beyond max_series"),
      metric::rate("alerts.cost", "%", 4, metric::host_tags, "CLOCK_THREAD_CPUTIME_ID", "CPU time of comparing; 100 is one core"),
  };
  static constexpr Description description = {.name = "alerts"_str,
                                              .summary = "Compare metrics with rules; emit alerts as spans"_str,
                                              .params = kParams,
                                              .metrics = kMetrics};

  explicit Alerts(Host host);
  void start() override;
  void stop() override;
  Code process(const Window &window, Batch &batch) override;

 private:
  // The state of one alert: the series of a rule with equal tags `by`.
  struct Group {
    Tags tags;
    Alarm alarm;
    std::unique_ptr<History> history;
    double value = 0;                    // the last compared number
    std::optional<double> raw;           // for `peers`: the value before the division by the median
    int64_t seen_ns = 0;                 // time of the last sample
    int64_t emitted_ns = 0;              // monotonic time of the last emission of the span
    bool is_reported = false;            // a span was emitted
    std::unique_ptr<const Texts> texts;  // the texts of that span
    bool in_batch = false;               // this batch has samples of the group
    // Sum, maximum, minimum and number of the values of `metric` in this batch; `divisor` is the sum of the values of `per`.
    double sum = 0, max = 0, min = 0, count = 0, divisor = 0;
  };
  // The identity of a group; its hash is computed once for all rules with the same `by`.
  struct GroupKey {
    std::string_view text;
    size_t hash = 0;
  };
  struct GroupHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    size_t operator()(const GroupKey &key) const { return key.hash; }
  };
  struct GroupEqual {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a == b; }
    bool operator()(const GroupKey &a, std::string_view b) const { return a.text == b; }
    bool operator()(std::string_view a, const GroupKey &b) const { return a == b.text; }
  };
  struct RuleState {
    Rule rule;
    std::vector<uint32_t> by;    // ids of the tags in rule.by
    std::vector<uint32_t> tags;  // ids of the tags in rule.tags
    std::unordered_map<std::string, Group, GroupHash, GroupEqual> groups;
    std::vector<Group *> batch_groups;
    size_t firing = 0;
    int64_t next_end_ns = 0;       // no group ends before this time
    std::optional<double> median;  // for `peers`: median over the groups of this batch
  };
  struct Names {
    explicit Names(Host host);
    uint32_t alert, severity, summary, advice, value, limit, firing, opened, series, lost, cost;
  };
  // A rule that reads a metric, as its `metric` or its `per`.
  struct RuleUse {
    uint32_t rule;
    bool is_per;
  };

  std::string key_of(const Tags &tags);
  void load();
  void restore_gaps();
  void restore(const Kept &kept, const Window &window);
  void save();
  void read_sample(const Sample &sample, int64_t time_ns);
  void add_value(RuleState &state, const GroupKey &key, bool is_per, const Sample &sample, double value, int64_t time_ns);
  static bool has_rule_tags(const RuleState &state, const Sample &sample);
  GroupKey key_of(const RuleState &state, const Sample &sample);
  Group *group_of(RuleState &state, const GroupKey &key, const Sample &sample);
  const std::vector<RuleUse> &rules_of_metric(uint32_t metric);
  void compare(RuleState &state, Group &group, int64_t time_ns);
  static std::optional<double> combined(const Rule &rule, const Group &group);
  std::optional<double> number_of(const RuleState &state, Group &group);
  static std::optional<double> median_of(RuleState &state);
  void apply_event(RuleState &state, Group &group, Event event);
  void check_ends(RuleState &state, const Window &window);
  int64_t end_of(const RuleState &state, const Group &group) const;
  bool has_ended(RuleState &state, Group &group, const Window &window);
  void check_absence(RuleState &state, Group &group, int64_t now_ns);
  bool is_due(const RuleState &state, Group &group, const Window &window);
  void emit(const Kept &kept, std::optional<double> limit, Batch &batch);
  void emit_metrics(const Window &window, int64_t cpu_ns, Batch &batch);
  Kept journal_entry(const RuleState &state, const Group &group) const;

  Host host_;
  const Names names_;
  std::vector<RuleState> rules_;
  const Silences silences_;
  const int64_t repeat_ns_;
  const size_t max_series_;
  const bool passes_samples_;
  std::string file_;  // path of the journal; empty: no journal

  Gaps gaps_;
  io::PerName<std::vector<RuleUse>> rules_by_metric_;
  io::IdentityKey key_;
  std::vector<Kept> loaded_;  // entries of the journal; restored and cleared in the first window
  std::vector<Kept> closed_;  // alerts that ended in this batch and are not emitted yet
  std::vector<std::pair<const RuleState *, const Group *>> due_;
  std::vector<Kept> ended_;  // the last ended alerts: after a crash they are emitted again
  size_t series_ = 0;
  uint64_t created_ = 0, opened_ = 0, lost_ = 0;
  bool is_started_ = false, is_full_logged_ = false, must_save_ = false, save_failed_ = false;
  int64_t saved_ns_ = 0;
  io::OwnCost cost_;
};

}  // namespace atalaya::alerts
