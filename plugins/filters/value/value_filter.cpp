// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/value/value_filter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "plugins/shared/io/match/patterns.h"

namespace atalaya::value {

// Maximum entities with state; samples of further entities are compared with the thresholds only.
constexpr size_t kMaxEntities = size_t{1} << 18;
// With the pid it identifies a process; samples of any family may have it.
constexpr std::string_view kIdentity = "proc.start.time";

ValueFilter::ValueFilter(Host host)
    : host_(host),
      below_(host.boolean("below")),
      change_(host.boolean("change")),
      pass_absent_(host.text("absent") == "pass"),
      hysteresis_(host.number("hysteresis") / 100),
      entities_(kMaxEntities) {
  for (uint64_t i = 0; const auto param = host.child("", i); ++i)
    if (param->key().find('.') != std::string_view::npos)
      thresholds_.push_back({std::string(param->key()), param->number(), host_.intern(param->key())});
  if (thresholds_.empty())
    throw Failure(Code::bad_config, "no metric is listed; add one with its threshold, such as [\"proc.cpu.user\"] = 0.5");
  if (change_ && (below_ || hysteresis_ > 0))
    throw Failure(Code::bad_config, "\"change\" cannot be combined with \"below\" or \"hysteresis\"");
  for (const Threshold &threshold : thresholds_)
    if (std::isnan(threshold.value) || (change_ && threshold.value < 0))
      throw Failure(Code::bad_config,
                    "\"" + threshold.metric + "\": the threshold must be a number, and with \"change\" 0 or more");
  if (const auto rest = host_.find("rest")) resting_.emplace(host_, rest->integer());
}

// Moves the samples to pass to the front of the batch; returns their number.
uint64_t ValueFilter::compact(const Window &window, Batch &batch) {
  uint64_t kept = 0, merged = 0;
  const auto samples = batch.samples();
  for (const Sample &sample : samples) {
    identity_ = {};
    if (keeps(sample)) {
      if (resting_ && !present_.empty()) resting_->complete_entity(identity_of(sample));
      samples[kept++] = sample;
    } else if (resting_ && resting_->add(window, sample, identity_of(sample))) {
      ++merged;
    }
  }
  host_.merged(merged);
  // Samples without a listed metric, such as events, can be rare: a filter for them may pass nothing for days without a warning.
  if (pass_absent_) host_.dropped("filtered", samples.size() - kept - merged);
  return kept;
}

Code ValueFilter::process(const Window &window, Batch &batch) {
  const uint64_t kept = compact(window, batch);
  batch.truncate(kept);
  if (resting_) {
    host_.created(resting_->end_window(window, batch));
    // The merged sample comes first, because a series is written in the order of its times.
    const auto all = batch.samples();
    std::rotate(all.begin(), all.begin() + static_cast<ptrdiff_t>(kept), all.end());
  }
  const size_t width = thresholds_.size();
  entities_.next_window([&](uint32_t from, uint32_t to) {
    if (from != to) std::copy_n(&memory_[from * width], width, &memory_[to * width]);
  });
  memory_.resize(entities_.size() * width);
  return Code::ok;
}

ValueFilter::FieldRule ValueFilter::rule(uint32_t name) {
  const std::string_view metric = host_.name_of(name);
  FieldRule rule;
  for (uint32_t i = 0; i < thresholds_.size(); ++i) {
    if (metric != kIdentity && io::family_of(metric) == io::family_of(thresholds_[i].metric)) rule.in_family = true;
    if (metric == thresholds_[i].metric) rule = {true, true, i};
    if (rule.listed) break;
  }
  return rule;
}

void ValueFilter::add_present(uint32_t threshold, const atalaya_field &field) {
  const double value = as_double(field);
  if (!std::isnan(value)) present_.emplace_back(threshold, value);
}

// The samples of a source have the same order of fields. If all listed fields are at their last positions, no search is needed.
bool ValueFilter::find_at_places(const Sample &sample) {
  present_.clear();
  for (uint32_t i = 0; i < thresholds_.size(); ++i) {
    const Threshold &threshold = thresholds_[i];
    if (threshold.place >= sample.field_count || sample.fields[threshold.place].name != threshold.name) return false;
    add_present(i, sample.fields[threshold.place]);
  }
  return true;
}

// Returns false for a sample without a field of a listed family.
bool ValueFilter::find_by_search(const Sample &sample) {
  bool in_family = false;
  present_.clear();
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const FieldRule &of = meanings_.get(sample.fields[i].name, [&] { return rule(sample.fields[i].name); });
    in_family |= of.in_family;
    if (!of.listed) continue;
    thresholds_[of.threshold].place = i;
    add_present(of.threshold, sample.fields[i]);
  }
  return in_family;
}

bool ValueFilter::keeps(const Sample &sample) {
  if (!find_at_places(sample) && !find_by_search(sample)) return true;
  if (present_.empty()) return pass_absent_;
  if (change_ || hysteresis_ > 0) return keeps_by_memory(memory_of(sample));
  return std::any_of(present_.begin(), present_.end(),
                     [&](const auto &one) { return reaches(one.second, thresholds_[one.first], false); });
}

bool ValueFilter::reaches(double value, const Threshold &threshold, bool reached_before) const {
  const double slack = reached_before ? std::fabs(threshold.value) * hysteresis_ : 0;
  return below_ ? value <= threshold.value + slack : value >= threshold.value - slack;
}

// If the entity has no state (too many entities), each sample is treated as its first one.
bool ValueFilter::keeps_by_memory(FieldState *memory) {
  bool keep = false;
  for (const auto &[index, value] : present_) {
    const FieldState before = memory == nullptr ? FieldState{} : memory[index];
    const double change = std::fabs(value - before.last_kept);
    const bool counts = change_ ? std::isnan(before.last_kept) || (change > 0 && change >= thresholds_[index].value)
                                : reaches(value, thresholds_[index], before.reached);
    if (memory != nullptr) memory[index].reached = counts;
    keep |= counts;
  }
  if (keep && memory != nullptr)
    for (const auto &[index, value] : present_) memory[index].last_kept = value;
  return keep;
}

// Computed once per sample.
std::string_view ValueFilter::identity_of(const Sample &sample) {
  if (identity_.empty()) identity_ = key_.identity_of(sample);
  return identity_;
}

ValueFilter::FieldState *ValueFilter::memory_of(const Sample &sample) {
  const auto found = entities_.find_or_add(identity_of(sample));
  if (!found) return nullptr;
  if (found->added) memory_.resize(entities_.size() * thresholds_.size());
  return &memory_[found->index * thresholds_.size()];
}

}  // namespace atalaya::value
