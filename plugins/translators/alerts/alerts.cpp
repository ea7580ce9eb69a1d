// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/alerts/alerts.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "core/base/now.h"
#include "plugins/shared/analysis/evidence/statistics.h"

namespace atalaya::alerts {
namespace {

constexpr size_t kMaxEnded = 256;
constexpr int64_t kSaveInterval = 60'000'000'000;

std::string_view tag_value(const Sample &sample, uint32_t key) {
  const atalaya_tag *const tag = find_tag(sample, key);
  return tag == nullptr ? std::string_view{} : view(tag->value);
}

}  // namespace

Alerts::Names::Names(Host host)
    : alert(host.intern("alert")),
      severity(host.intern("severity")),
      summary(host.intern("summary")),
      advice(host.intern("advice")),
      value(host.intern("alert.value")),
      limit(host.intern("alert.limit")),
      firing(host.intern("alerts.firing")),
      opened(host.intern("alerts.opened")),
      series(host.intern("alerts.series")),
      lost(host.intern("alerts.lost")),
      cost(host.intern("alerts.cost")) {}

Alerts::Alerts(Host host)
    : host_(host),
      names_(host),
      silences_(host),
      repeat_ns_(host.integer("repeat")),
      max_series_(static_cast<size_t>(host.integer("max_series"))),
      passes_samples_(host.boolean("samples")) {
  for (Rule &rule : read_rules(host)) {
    RuleState state;
    for (const std::string &tag : rule.by) state.by.push_back(host.intern(tag));
    for (const auto &[tag, patterns] : rule.tags) state.tags.push_back(host.intern(tag));
    state.rule = std::move(rule);
    rules_.push_back(std::move(state));
  }
}

void Alerts::start() {
  for (RuleState &state : rules_) {
    state.groups.clear();
    state.firing = 0;
    state.next_end_ns = 0;
  }
  loaded_.clear();
  ended_.clear();
  gaps_ = {};
  series_ = 0;
  is_started_ = false;
  load();
}

void Alerts::stop() {
  if (is_started_) save();
  is_started_ = false;
}

const std::vector<Alerts::RuleUse> &Alerts::rules_of_metric(uint32_t metric) {
  return rules_by_metric_.get(metric, [&] {
    std::vector<RuleUse> concerns;
    const std::string_view name = host_.name_of(metric);
    const auto info = host_.metric(metric);
    const bool is_level = info && info->kind != ATALAYA_TOTAL;
    for (uint32_t i = 0; i < rules_.size(); ++i) {
      Rule &rule = rules_[i].rule;
      if (rule.metric == name) {
        rule.is_level = is_level || !rule.per.empty();
        concerns.push_back({i, false});
      }
      if (!rule.per.empty() && rule.per == name) concerns.push_back({i, true});
    }
    return concerns;
  });
}

Code Alerts::process(const Window &window, Batch &batch) {
  const int64_t begin_ns = core::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  created_ = opened_ = lost_ = 0;
  if (!std::exchange(is_started_, true)) {
    restore_gaps();
    gaps_.add(window);
    for (const Kept &kept : std::exchange(loaded_, {})) restore(kept, window);
    // Each is emitted again, because it is unknown whether the sinks have it.
    for (const Kept &kept : ended_) closed_.push_back(kept);
    for (RuleState &state : rules_)
      if (state.rule.is_absence() && state.groups.empty()) {
        state.groups[key_of({})].seen_ns = window.time_ns;
        ++series_;
      }
  } else {
    gaps_.add(window);
  }
  for (const Sample &sample : batch.samples())
    if (sample.kind == ATALAYA_METRICS) read_sample(sample, sample.time_ns == 0 ? window.time_ns : sample.time_ns);
  for (RuleState &state : rules_) {
    if (state.rule.use == Use::peers && !state.batch_groups.empty()) state.median = median_of(state);
    for (Group *group : state.batch_groups) compare(state, *group, group->seen_ns);
    state.batch_groups.clear();
    check_ends(state, window);
  }
  if (!passes_samples_) {
    host_.dropped("filtered", batch.samples().size());  // counted here, because there may be no alert for days without a warning
    batch.truncate(0);
  }
  due_.clear();
  for (RuleState &state : rules_) {
    if (state.firing == 0) continue;
    for (auto &[key, group] : state.groups)
      if (group.alarm.state == State::firing && is_due(state, group, window)) due_.emplace_back(&state, &group);
  }
  if (must_save_ || host_.monotonic() - saved_ns_ >= kSaveInterval) save();
  for (const Kept &kept : std::exchange(closed_, {})) {
    const auto state = std::find_if(rules_.begin(), rules_.end(), [&](const RuleState &one) { return one.rule.name == kept.rule; });
    emit(kept, state == rules_.end() ? std::nullopt : state->rule.shown_limit(), batch);
  }
  for (const auto &[state, group] : due_) {
    Kept open = journal_entry(*state, *group);
    open.other_ns = -1;
    emit(open, state->rule.shown_limit(), batch);
  }
  emit_metrics(window, core::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns, batch);
  host_.created(created_);
  return Code::ok;
}

void Alerts::read_sample(const Sample &sample, int64_t time_ns) {
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const std::vector<RuleUse> &concerns = rules_of_metric(sample.fields[i].name);
    if (concerns.empty()) continue;
    const double value = as_double(sample.fields[i]);
    if (!std::isfinite(value)) continue;
    GroupKey key;
    const std::vector<uint32_t> *by = nullptr;  // the `by` of the last computed key
    for (const RuleUse &concern : concerns) {
      RuleState &state = rules_[concern.rule];
      if (!has_rule_tags(state, sample)) continue;
      if (by == nullptr || *by != state.by) key = key_of(state, sample);
      by = &state.by;
      add_value(state, key, concern.is_per, sample, value, time_ns);
    }
  }
}

bool Alerts::has_rule_tags(const RuleState &state, const Sample &sample) {
  for (size_t i = 0; i < state.tags.size(); ++i) {
    const atalaya_tag *const tag = find_tag(sample, state.tags[i]);
    const io::MatcherList &patterns = state.rule.tags[i].second;
    if (tag == nullptr ? !patterns.matches_absent() : !patterns.matches(view(tag->value))) return false;
  }
  return true;
}

// The key is valid until the next call.
Alerts::GroupKey Alerts::key_of(const RuleState &state, const Sample &sample) {
  key_.begin();
  if (state.rule.by.empty())
    for (uint32_t i = 0; i < sample.tag_count; ++i) key_.tag(sample.tags[i]);
  else
    for (const uint32_t name : state.by)
      if (const atalaya_tag *const tag = find_tag(sample, name)) key_.tag(*tag);
  const std::string_view text = key_.finish();
  return {text, GroupHash()(text)};
}

Alerts::Group *Alerts::group_of(RuleState &state, const GroupKey &key, const Sample &sample) {
  if (const auto found = state.groups.find(key); found != state.groups.end()) return &found->second;
  if (series_ >= max_series_) {
    ++lost_;
    if (!std::exchange(is_full_logged_, true))
      host_.log(Level::warning, "more than " + std::to_string(max_series_) +
                                    " series of all rules; further ones are not compared: use tags and by, or raise max_series");
    return nullptr;
  }
  ++series_;
  Group &group = state.groups[std::string(key.text)];
  state.next_end_ns = 0;
  if (state.rule.by.empty())
    for (uint32_t i = 0; i < sample.tag_count; ++i)
      group.tags.emplace_back(host_.name_of(sample.tags[i].key), view(sample.tags[i].value));
  else
    for (size_t i = 0; i < state.by.size(); ++i)
      if (find_tag(sample, state.by[i]) != nullptr) group.tags.emplace_back(state.rule.by[i], tag_value(sample, state.by[i]));
  std::sort(group.tags.begin(), group.tags.end());
  return &group;
}

void Alerts::add_value(RuleState &state, const GroupKey &key, bool is_per, const Sample &sample, double value, int64_t time_ns) {
  Group *const group = group_of(state, key, sample);
  if (group == nullptr) return;
  if (!std::exchange(group->in_batch, true)) {
    group->sum = group->count = group->divisor = 0;
    state.batch_groups.push_back(group);
  }
  if (is_per) {
    group->divisor += value;
    return;
  }
  group->max = group->count == 0 ? value : std::max(group->max, value);
  group->min = group->count == 0 ? value : std::min(group->min, value);
  group->sum += value;
  ++group->count;
  group->seen_ns = std::max(group->seen_ns, time_ns);
}

// The median over all groups with values in this batch. It is computed once, so that all groups are compared with the same one.
std::optional<double> Alerts::median_of(RuleState &state) {
  constexpr size_t kMinPeers = 3;
  for (Group *group : state.batch_groups)
    if (const auto value = combined(state.rule, *group)) group->raw = value;
  std::vector<double> values;
  for (const auto &[key, group] : state.groups)
    if (group.raw) values.push_back(*group.raw);
  if (values.size() < kMinPeers) return std::nullopt;
  return evidence::at_rank(values, values.size() / 2);
}

// Combines the values of the group's series to one value, or to a value in % of `per`.
std::optional<double> Alerts::combined(const Rule &rule, const Group &group) {
  if (group.count == 0) return std::nullopt;
  double value = group.sum;
  if (rule.combine == Combine::max) value = group.max;
  if (rule.combine == Combine::min) value = group.min;
  if (rule.combine == Combine::mean) value = group.sum / group.count;
  if (rule.per.empty()) return value;
  if (group.divisor == 0) return std::nullopt;
  return 100 * value / group.divisor;
}

// The number that the rule compares; nothing if it is unknown.
std::optional<double> Alerts::number_of(const RuleState &state, Group &group) {
  const Rule &rule = state.rule;
  const auto value = combined(rule, group);
  if (!value) return std::nullopt;
  if (rule.use == Use::peers) {
    if (!state.median || *state.median == 0) return std::nullopt;
    return *value / *state.median;
  }
  if (!rule.has_history()) return value;
  if (!group.history) group.history = std::make_unique<History>();
  group.history->add(rule, group.seen_ns, *value);
  return group.history->number(rule, group.seen_ns, gaps_);
}

void Alerts::compare(RuleState &state, Group &group, int64_t time_ns) {
  group.in_batch = false;
  if (group.count == 0) return;
  if (state.rule.is_absence()) {  // a sample ends the absence
    apply_event(state, group, group.alarm.step(state.rule, false, true, time_ns, gaps_));
    return;
  }
  const auto number = number_of(state, group);
  if (!number) return;
  group.value = *number;
  apply_event(state, group,
              group.alarm.step(state.rule, state.rule.is_beyond(*number), state.rule.is_clear(*number), time_ns, gaps_));
}

void Alerts::apply_event(RuleState &state, Group &group, Event event) {
  if (event == Event::none) return;
  must_save_ = true;
  group.emitted_ns = 0;
  if (event == Event::opened) {
    ++opened_;
    ++state.firing;
    state.next_end_ns = 0;
    return;
  }
  --state.firing;
  if (!group.is_reported) return;  // no span was emitted: the alert was silenced
  Kept closed = journal_entry(state, group);
  group.is_reported = false;
  group.texts.reset();
  closed.what = Kept::What::closed;
  closed.other_ns = std::max<int64_t>(group.alarm.calm_ns - group.alarm.since_ns, 0);
  ended_.push_back(closed);
  if (ended_.size() > kMaxEnded) ended_.erase(ended_.begin());
  closed_.push_back(std::move(closed));
}

// Checks the conditions that depend only on time: absence of samples, and the end of series.
void Alerts::check_ends(RuleState &state, const Window &window) {
  if (!state.rule.is_absence() && window.time_ns < state.next_end_ns) return;
  state.next_end_ns = INT64_MAX;
  const bool has_others = state.groups.size() > 1;
  for (auto at = state.groups.begin(); at != state.groups.end();) {
    Group &group = at->second;
    // The group without tags represents series that have not appeared yet; it is removed when there is another group.
    const bool is_placeholder = state.rule.is_absence() && group.tags.empty() && has_others;
    if (is_placeholder && group.alarm.state == State::firing) {
      group.alarm.calm_ns = window.time_ns;
      group.alarm.state = State::quiet;
      apply_event(state, group, Event::closed);
    }
    if (is_placeholder || (!state.rule.is_absence() && has_ended(state, group, window))) {
      at = state.groups.erase(at);
      --series_;
      continue;
    }
    if (state.rule.is_absence()) check_absence(state, group, window.time_ns);
    state.next_end_ns = std::min(state.next_end_ns, end_of(state, group));
    ++at;
  }
}

// The earliest time at which the group changes if it gets no further samples.
int64_t Alerts::end_of(const RuleState &state, const Group &group) const {
  // A sum over past time decreases in each window.
  if (state.rule.use == Use::sum && group.alarm.state == State::firing) return 0;
  const int64_t now_ns = gaps_.until_ns();
  return now_ns + state.rule.forget_ns() - gaps_.collected(group.seen_ns, now_ns);
}

// Ends the alert of a series without samples. Returns whether the series must be removed.
bool Alerts::has_ended(RuleState &state, Group &group, const Window &window) {
  // A sum over past time decreases without samples.
  if (state.rule.use == Use::sum && group.alarm.state == State::firing && group.history) {
    if (const auto number = group.history->number(state.rule, window.time_ns, gaps_); !number || state.rule.is_clear(*number))
      apply_event(state, group, group.alarm.step(state.rule, false, true, window.time_ns, gaps_));
  }
  if (gaps_.collected(group.seen_ns, window.time_ns) < state.rule.forget_ns()) return false;
  if (group.alarm.state == State::firing) {
    group.alarm.state = State::quiet;
    if (group.alarm.calm_ns == 0) group.alarm.calm_ns = window.time_ns;
    apply_event(state, group, Event::closed);
  }
  return true;
}

void Alerts::check_absence(RuleState &state, Group &group, int64_t now_ns) {
  const int64_t absent_ns = gaps_.collected(group.seen_ns, now_ns);
  if (absent_ns < state.rule.absent_ns) return;
  group.value = static_cast<double>(absent_ns) / 1e9;
  if (group.alarm.state == State::quiet) group.alarm = {State::pending, group.seen_ns, 0};
  apply_event(state, group, group.alarm.step(state.rule, true, false, now_ns, gaps_));
}

// Whether the span of a firing alert must be emitted now, for the first time or again.
bool Alerts::is_due(const RuleState &state, Group &group, const Window &window) {
  if (!silences_.empty() && silences_.silence(state.rule.name, group.tags, window.time_ns)) return false;
  if (group.emitted_ns != 0 && window.monotonic_ns - group.emitted_ns < repeat_ns_) return false;
  if (!std::exchange(group.is_reported, true)) {
    group.texts = std::make_unique<const Texts>(state.rule.texts);
    must_save_ = true;
  }
  group.emitted_ns = std::max<int64_t>(window.monotonic_ns, 1);
  return true;
}

void Alerts::emit(const Kept &kept, std::optional<double> limit, Batch &batch) {
  Sample &span = batch.add(ATALAYA_SPAN, static_cast<uint32_t>(kept.tags.size() + 4), 2);
  span.time_ns = kept.since_ns;
  span.duration_ns = kept.other_ns;
  span.text = batch.copy("alert");
  batch.tag(span, names_.alert, kept.rule);
  batch.tag(span, names_.severity, kept.texts.severity);
  if (!kept.texts.summary.empty()) batch.tag(span, names_.summary, kept.texts.summary);
  if (!kept.texts.advice.empty()) batch.tag(span, names_.advice, kept.texts.advice);
  for (const auto &[key, value] : kept.tags) batch.tag(span, host_.intern(key), value);
  batch.field(span, names_.value, round_to(kept.value, 6));
  if (limit) batch.field(span, names_.limit, round_to(*limit, 6));
  ++created_;
}

void Alerts::emit_metrics(const Window &window, int64_t cpu_ns, Batch &batch) {
  const auto cost = cost_.add(window, cpu_ns);
  if (!cost || !passes_samples_) return;
  int64_t firing = 0;
  for (const RuleState &state : rules_) firing += static_cast<int64_t>(state.firing);
  Sample &sample = batch.add(ATALAYA_METRICS, 1, 5);
  sample.time_ns = window.time_ns;
  sample.duration_ns = window.duration_ns;
  batch.field(sample, names_.firing, firing);
  batch.field(sample, names_.opened, static_cast<int64_t>(opened_));
  batch.field(sample, names_.series, static_cast<int64_t>(series_));
  batch.field(sample, names_.lost, static_cast<int64_t>(lost_));
  batch.field(sample, names_.cost, round_to(*cost, 4));
  ++created_;
}

}  // namespace atalaya::alerts
