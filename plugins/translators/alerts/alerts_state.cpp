// SPDX-License-Identifier: Apache-2.0
// Writes the state of alerts to the journal, and restores it after a restart.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/files.h"
#include "plugins/shared/io/tail/state_file.h"
#include "plugins/translators/alerts/alerts.h"

namespace atalaya::alerts {
namespace {

constexpr int64_t kRepeatEnded = 3'600'000'000'000;
// Time after a start in which a restored series must appear; then it has ended.
constexpr int64_t kGraceWindows = 5, kMinGrace = 60'000'000'000;

}  // namespace

std::string Alerts::key_of(const Tags &tags) {
  key_.begin();
  for (const auto &[name, value] : tags) key_.tag({host_.intern(name), 0, str(value)});
  return std::string(key_.finish());
}

void Alerts::load() {
  const auto folder = host_.state_dir();
  file_ = folder ? *folder + "/alerts" : std::string();
  if (file_.empty() || ::access(file_.c_str(), F_OK) != 0) return;
  const auto text = core::read_file(file_, tail::kMaxStateBytes);
  auto kept = text ? parse_journal(text.value()) : core::Result<std::vector<Kept>>(core::Error{text.error()});
  if (kept)
    loaded_ = std::move(*kept);
  else
    host_.log(Level::warning, file_ + ": " + kept.error() + "; alerts that fired before the start are not closed");
}

void Alerts::restore_gaps() {
  for (const Kept &kept : loaded_) {
    if (kept.what == Kept::What::until) gaps_.restore_until(kept.since_ns);
    if (kept.what == Kept::What::gap) gaps_.restore(kept.since_ns, kept.since_ns + kept.other_ns);
  }
}

void Alerts::restore(const Kept &kept, const Window &window) {
  if (kept.what == Kept::What::until || kept.what == Kept::What::gap) return;
  const auto state = std::find_if(rules_.begin(), rules_.end(), [&](const RuleState &one) { return one.rule.name == kept.rule; });
  if (kept.what == Kept::What::closed) {
    if (kept.since_ns + kept.other_ns > window.time_ns - kRepeatEnded) ended_.push_back(kept);
    return;
  }
  if (state == rules_.end()) {  // the rule was removed
    if (kept.what != Kept::What::firing || !kept.is_reported) return;
    Kept closed = kept;
    closed.what = Kept::What::closed;
    closed.other_ns = std::max<int64_t>(window.time_ns - kept.since_ns, 0);
    ended_.push_back(std::move(closed));
    must_save_ = true;
    return;
  }
  if (series_ >= max_series_) return;
  Group group;
  group.tags = kept.tags;
  group.value = kept.value;
  group.is_reported = kept.is_reported;
  if (kept.is_reported) group.texts = std::make_unique<const Texts>(kept.texts);
  if (kept.what != Kept::What::seen) group.alarm.since_ns = kept.since_ns;
  if (kept.what == Kept::What::pending) group.alarm.state = State::pending;
  if (kept.what == Kept::What::firing) group.alarm = {State::firing, kept.since_ns, kept.other_ns};
  // The series gets some windows to appear, because the agent collected nothing while it was stopped.
  const int64_t limit = state->rule.is_absence() ? state->rule.absent_ns : state->rule.ended_after_ns;
  // Rules of absence get less time: otherwise an agent that restarts often would never report an absence.
  const int64_t min_grace = state->rule.is_absence() ? kMinGrace / 12 : kMinGrace;
  const int64_t left = std::min(limit, std::max(kGraceWindows * window.interval_ns, min_grace));
  const int64_t grace = gaps_.before(window.time_ns, limit - left);
  group.seen_ns = std::max(kept.what == Kept::What::seen ? kept.other_ns : int64_t{0}, grace);
  std::string key = key_of(group.tags);
  const bool is_firing = group.alarm.state == State::firing;
  if (!state->groups.emplace(std::move(key), std::move(group)).second) return;
  ++series_;
  state->firing += is_firing ? 1 : 0;
}

Kept Alerts::journal_entry(const RuleState &state, const Group &group) const {
  Kept kept;
  kept.rule = state.rule.name;
  kept.tags = group.tags;
  kept.value = std::isfinite(group.value) ? group.value : 0;
  kept.since_ns = group.alarm.since_ns;
  kept.is_reported = group.is_reported;
  kept.texts = group.texts ? *group.texts : state.rule.texts;
  if (group.alarm.state == State::quiet) {
    kept.what = Kept::What::seen;
    kept.other_ns = group.seen_ns;
  } else {
    kept.what = group.alarm.state == State::firing ? Kept::What::firing : Kept::What::pending;
    kept.other_ns = group.alarm.state == State::firing ? group.alarm.calm_ns : 0;
  }
  return kept;
}

// Called before spans are emitted: after a crash, the changes of the last windows are emitted again, never lost.
void Alerts::save() {
  must_save_ = false;
  saved_ns_ = host_.monotonic();
  if (file_.empty()) return;
  std::vector<Kept> all = ended_;
  all.push_back({.what = Kept::What::until, .since_ns = gaps_.until_ns()});
  for (const auto &[begin_ns, end_ns] : gaps_.all())
    all.push_back({.what = Kept::What::gap, .since_ns = begin_ns, .other_ns = end_ns - begin_ns});
  for (const RuleState &state : rules_)
    for (const auto &[key, group] : state.groups)
      if (group.alarm.state != State::quiet || state.rule.is_absence()) all.push_back(journal_entry(state, group));
  const core::Status done = tail::replace_state(file_, journal_text(all));
  if (!done && !std::exchange(save_failed_, true))
    host_.log(Level::warning, done.error() + "; after a restart, alerts that fire now are reported again or not closed");
  if (done) save_failed_ = false;
}

}  // namespace atalaya::alerts
