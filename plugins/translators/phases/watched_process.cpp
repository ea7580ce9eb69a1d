// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/phases/watched_process.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

namespace atalaya::phases {
namespace {

// Tolerance of start times: sources compute them from clocks of different resolution.
constexpr int64_t kSameStart = 500'000'000;

// Size of a number in LEB128 (groups of seven bits).
uint64_t bits_of(uint64_t number) {
  return 8 * ((static_cast<uint64_t>(std::bit_width(number | 1)) + 6) / 7);
}

}  // namespace

WatchedProcess::WatchedProcess(ProcessName name, std::shared_ptr<Program> program, const CharacteriserOptions &options)
    : name_(std::move(name)), program_(std::move(program)), characteriser_(program_->book(), options) {}

bool WatchedProcess::is_other(std::string_view process, std::optional<int64_t> start_ns) const {
  return process != name_.process || (start_ns && start_ns_ && std::abs(*start_ns - *start_ns_) > kSameStart);
}

// The pending window at this time; null if it was already processed or if too many are pending.
Assembled *WatchedProcess::pending_at(int64_t time_ns, int64_t duration_ns) {
  last_seen_ns_ = std::max(last_seen_ns_, time_ns);
  interval_ns_ = duration_ns;
  if (time_ns <= processed_until_ns_ || duration_ns <= 0) return nullptr;
  if (pending_.size() >= kMaxPending && !pending_.contains(time_ns)) return nullptr;
  Assembled &window = pending_[time_ns];
  window.duration_ns = std::max(window.duration_ns, duration_ns);
  return &window;
}

void WatchedProcess::add_stack(int64_t time_ns, int64_t duration_ns, std::string_view profile, std::string_view folded,
                               double samples) {
  if (profile_.empty()) profile_ = profile;
  Assembled *const window = profile == profile_ ? pending_at(time_ns, duration_ns) : nullptr;
  if (window == nullptr || !(samples > 0)) return;
  window->has_stacks = true;
  if (program_->stacks().add(folded, samples, window->parts)) window->samples += samples;
}

void WatchedProcess::add_metrics(int64_t time_ns, int64_t duration_ns, const Sample &sample, const Host &host) {
  Assembled *const window = pending_at(time_ns, duration_ns);
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const std::string_view name = host.name_of(sample.fields[i].name);
    if (name == "proc.start.time")
      start_ns_ = static_cast<int64_t>(as_double(sample.fields[i]));
    else if (window != nullptr && window->take(name, as_double(sample.fields[i]), duration_ns))
      window->has_metrics = true;
  }
}

void WatchedProcess::process_until(int64_t time_ns, std::vector<Occurrence> &changed) {
  while (!pending_.empty() && pending_.begin()->first < time_ns) {
    const auto window = pending_.extract(pending_.begin());
    process_window(window.key(), window.mapped(), changed);
  }
}

// A process without stacks so far is not sampled: it has no profile.
void WatchedProcess::process_window(int64_t time_ns, Assembled &window, std::vector<Occurrence> &changed) {
  processed_until_ns_ = time_ns;
  const int64_t maximum = window.duration_ns / 2;
  if (profile_ == "wall" && windows_without_dump_.add_window(time_ns, window)) return;
  const bool has_gap = sampled_ns_ != 0 && time_ns - window.duration_ns > sampled_ns_ + maximum;
  if (has_gap) characteriser_.finish(changed);
  sampled_ns_ = time_ns;
  if (profile_.empty()) return;
  const Ready sample = ready(window, profile_ == "wall", program_->gc_symbol(), program_->idle_symbol());
  for (const Part &part : sample.parts) trace_bits_ += bits_of(part.symbol) + bits_of(static_cast<uint64_t>(part.threads));
  characteriser_.add({time_ns, window.duration_ns, sample.parts, sample.threads, window.resources}, changed);
}

void WatchedProcess::finish(std::vector<Occurrence> &changed) {
  process_until(INT64_MAX, changed);
  characteriser_.finish(changed);
}

}  // namespace atalaya::phases
