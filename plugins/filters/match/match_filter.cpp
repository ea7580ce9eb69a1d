// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/match/match_filter.h"

#include <algorithm>
#include <string>

namespace atalaya::match {

MatchFilter::MatchFilter(Host host) : host_(host), metric_(host, "metric"), pass_absent_(host.text("absent") == "pass") {
  for (uint64_t i = 0; const auto param = host.child("", i); ++i) {
    const std::string key(param->key());
    if (key == "metric" || key == "kind" || key == "absent") continue;
    if (param->count() == 0) throw Failure(Code::bad_config, "parameter \"" + key + "\" has no pattern; write \"*\" for any value");
    tags_.push_back({host.intern(key), io::read_patterns(host, key)});
  }
  if (const auto kind = host.find("kind"))
    kind_ = kind->text() == "stack" ? ATALAYA_STACK : kind->text() == "span" ? ATALAYA_SPAN : ATALAYA_METRICS;
}

Code MatchFilter::process(const Window &, Batch &batch) {
  uint64_t kept = 0;
  const auto samples = batch.samples();
  for (Sample &sample : samples) {
    if (!keeps(sample)) continue;
    if (!metric_.empty()) {
      keep_matching_fields(batch, sample);
      if (sample.field_count == 0) continue;
    }
    samples[kept++] = sample;
  }
  // Spans, such as alerts, can be rare: a filter for them may pass nothing for days without a warning.
  if (kind_ == ATALAYA_SPAN) host_.dropped("filtered", samples.size() - kept);
  batch.truncate(kept);
  return Code::ok;
}

bool MatchFilter::keeps(const Sample &sample) const {
  if (kind_ && sample.kind != *kind_) return false;
  return std::all_of(tags_.begin(), tags_.end(), [&](const TagPatterns &wanted) {
    const atalaya_tag *tag = find_tag(sample, wanted.key);
    return tag == nullptr ? pass_absent_ || wanted.patterns.matches_absent() : wanted.patterns.matches(view(tag->value));
  });
}

void MatchFilter::keep_matching_fields(Batch &batch, Sample &sample) {
  const auto matches = [&](const atalaya_field &field) { return metric_.matches(field.name); };
  if (std::all_of(sample.fields, sample.fields + sample.field_count, matches)) return;
  batch.reserve(sample, 0, sample.field_count);
  const auto *end =
      std::remove_if(sample.fields, sample.fields + sample.field_count, [&](const auto &field) { return !matches(field); });
  sample.field_count = static_cast<uint32_t>(end - sample.fields);
}

}  // namespace atalaya::match
