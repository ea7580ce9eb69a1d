// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/recorder/recorder.h"

#include <algorithm>
#include <utility>

namespace atalaya::recorder {

void Recorder::drop(const RingEntry &entry) {
  if (!is_pending(entry)) return;
  lost_ += entry.samples;
  recording_->lost += entry.samples;
}

// If the clock is set back, older windows with a later time are removed only when the ring is full.
void Recorder::add(const Window &window, std::span<const Sample> samples) {
  now_ns_ = window.time_ns;
  ring_.drop_until(window.time_ns - limits_.keep_ns, [this](const RingEntry &entry) { return is_pending(entry); });
  if (ring_.push(window, samples, [this](const RingEntry &entry) { drop(entry); })) return;
  lost_ += samples.size();
  if (recording_) recording_->lost += samples.size();
}

const Recording *Recorder::trigger(const Trigger &trigger, int64_t now_ns) {
  if (!trigger.is_user && now_ns < quiet_until_ns_) {
    ++ignored_;
    return nullptr;
  }
  const int64_t from_ns = now_ns - std::min(trigger.last_ns.value_or(limits_.keep_ns), limits_.keep_ns);
  if (!recording_) recording_ = Recording{from_ns, now_ns, now_ns, trigger.cause, 0, 0, 0};
  Recording &recording = *recording_;
  ++recording.triggers;
  recording.from_ns = std::min(recording.from_ns, from_ns);
  const int64_t last_ns = recording.first_trigger_ns + limits_.longest_ns;
  recording.until_ns = std::max(recording.until_ns, std::min(now_ns + limits_.after_ns, last_ns));
  if (recording.until_ns == last_ns) quiet_until_ns_ = last_ns + limits_.longest_ns;
  return &recording;
}

std::optional<Recording> Recorder::pass(Batch &batch, uint64_t max_samples) {
  if (!recording_) return std::nullopt;
  uint64_t passed = 0;
  for (RingEntry &entry : ring_.entries()) {
    if (!is_pending(entry)) continue;
    if (passed > 0 && passed + entry.samples > max_samples) return std::nullopt;
    ring_.append_to(batch, entry);
    entry.is_passed = true;
    passed += entry.samples;
    recording_->samples += entry.samples;
  }
  if (now_ns_ < recording_->until_ns) return std::nullopt;
  return std::exchange(recording_, std::nullopt);
}

}  // namespace atalaya::recorder
