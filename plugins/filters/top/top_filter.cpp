// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/top/top_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace atalaya::top {
namespace {

bool same_text(atalaya_str a, atalaya_str b) {
  return view(a) == view(b);
}

}  // namespace

TopFilter::TopFilter(Host host)
    : host_(host),
      family_(io::family_of(host.text("by"))),
      by_(host.intern(host.text("by"))),
      tag_(host.intern(host.text("tag"))),
      k_(static_cast<uint64_t>(host.integer("k"))),
      hysteresis_(host.number("hysteresis") / 100),
      other_(host.boolean("other")),
      fields_(host, "fields"),
      weights_(host) {
  for (const std::string &key : host.texts("per")) per_.push_back(host.intern(key));
  if (by_ == 0 || tag_ == 0) throw Failure(Code::bad_config, "parameters \"by\" and \"tag\" must not be empty");
  if (std::find(per_.begin(), per_.end(), tag_) != per_.end())
    throw Failure(Code::bad_config,
                  "parameter \"tag\" is also in \"per\", so the sample of the rest would lose its group; use another tag");
}

Code TopFilter::process(const Window &window, Batch &batch) {
  const auto samples = batch.samples();
  candidates_.clear();
  group_ids_.clear();
  removed_.assign(samples.size(), false);
  for (uint64_t i = 0; i < samples.size(); ++i)
    if (samples[i].kind == ATALAYA_METRICS && in_family(samples[i])) add_candidate(window, samples[i], i);
  rank();
  split(window, samples);

  uint64_t kept = 0;
  for (uint64_t i = 0; i < samples.size(); ++i)
    if (!removed_[i]) samples[kept++] = samples[i];
  batch.truncate(kept);
  for (size_t i = 0; i < group_ids_.size() && other_; ++i)
    if (groups_[i].merged > 0) add_other(batch, groups_[i]);
  end_window();
  return Code::ok;
}

bool TopFilter::in_family(const Sample &sample) {
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const uint32_t name = sample.fields[i].name;
    if (families_.get(name, [&] { return io::family_of(host_.name_of(name)) == family_; })) return true;
  }
  return false;
}

// Samples of the family that lack the field rank last.
void TopFilter::add_candidate(const Window &window, const Sample &sample, uint64_t place) {
  const auto entity = entities_.find_or_add(key_.identity_of(sample));
  if (!entity) throw std::length_error("more than 4 billion entities");
  if (entity->added) last_kept_.push_back(0);
  const bool kept_before = last_kept_[entity->index] + 1 == round_ && round_ > 1;
  const atalaya_field *field = find_field(sample, by_);
  double value = field == nullptr ? std::numeric_limits<double>::quiet_NaN() : as_double(*field);
  if (std::isnan(value)) value = -std::numeric_limits<double>::infinity();
  const double rank = kept_before && std::isfinite(value) ? value + std::fabs(value) * hysteresis_ : value;
  candidates_.push_back({place, group_of(window, sample), entity->index, rank, kept_before});
}

uint32_t TopFilter::group_of(const Window &window, const Sample &sample) {
  const int64_t time_ns = io::SampleWindow(window, sample).group_time_ns;
  key_.begin();
  key_.number(time_ns);
  for (const uint32_t key : per_)
    if (const atalaya_tag *tag = find_tag(sample, key)) key_.tag(*tag);
  const auto found = group_ids_.find_or_add(key_.finish());
  if (!found) throw std::length_error("more than 4 billion groups");
  if (found->index == groups_.size()) groups_.emplace_back();
  Group &group = groups_[found->index];
  if (found->added) {
    group.window = {time_ns, time_ns};
    group.seen = group.merged = 0;
    group.common.assign(sample.tags, sample.tags + sample.tag_count);
    group.rest.clear();
  }
  const auto differs = [&](const atalaya_tag &tag) {
    const atalaya_tag *own = find_tag(sample, tag.key);
    return own == nullptr || !same_text(own->value, tag.value);
  };
  group.common.erase(std::remove_if(group.common.begin(), group.common.end(), differs), group.common.end());
  return found->index;
}

// Sorts each group in descending order of rank. Ties: samples kept in the last window first, then by identity, so that the result
// does not depend on the order of the batch.
void TopFilter::rank() {
  std::sort(candidates_.begin(), candidates_.end(), [&](const Candidate &a, const Candidate &b) {
    if (a.group != b.group) return a.group < b.group;
    if (a.rank != b.rank) return a.rank > b.rank;
    if (a.kept_before != b.kept_before) return a.kept_before;
    if (a.entity != b.entity) return entities_.key(a.entity) < entities_.key(b.entity);
    return a.sample < b.sample;
  });
}

void TopFilter::split(const Window &window, std::span<const Sample> samples) {
  for (const Candidate &candidate : candidates_) {
    Group &group = groups_[candidate.group];
    if (group.seen++ < k_) {
      last_kept_[candidate.entity] = round_;
      continue;
    }
    removed_[candidate.sample] = true;
    ++group.merged;
    if (!other_) continue;
    const io::SampleWindow own(window, samples[candidate.sample]);
    group.window.add(own.group_begin_ns);
    group.rest.add(samples[candidate.sample], own.duration_ns);
  }
}

void TopFilter::add_other(Batch &batch, const Group &group) {
  const auto totals = group.rest.all();
  Sample &sample = batch.add(ATALAYA_METRICS, static_cast<uint32_t>(group.common.size() + 1), static_cast<uint32_t>(totals.size()));
  sample.time_ns = group.window.time_ns;
  sample.duration_ns = group.window.length_ns();
  for (const atalaya_tag &tag : group.common)
    if (tag.key != tag_) batch.tag_shared(sample, tag.key, tag.value);
  batch.tag(sample, tag_, "other");
  for (const io::Total &total : totals)
    if (fields_.matches(total.name()))
      batch.put(sample, total.result(io::Function::sum, weights_.weight_of(total.name()), group.window.length_ns()));
  host_.merged(group.merged);
  host_.created(1);
}

void TopFilter::end_window() {
  if (!candidates_.empty()) ++round_;
  entities_.next_window([&](uint32_t from, uint32_t to) { last_kept_[to] = last_kept_[from]; });
  last_kept_.resize(entities_.size());
}

}  // namespace atalaya::top
