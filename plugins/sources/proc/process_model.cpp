// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process_model.h"

namespace atalaya::proc {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

using Counters = Known<Counter, kCounters>;

Rates rates_of(const Counters *before, const Counters &after, int64_t elapsed_ns) {
  Rates rates;
  if (elapsed_ns <= 0) return rates;
  const double per_second = kNanosecondsPerSecond / static_cast<double>(elapsed_ns);
  for (size_t i = 0; i < kCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    if (!after.has(counter) || (before != nullptr && !before->has(counter))) continue;
    const uint64_t from = before == nullptr ? 0 : before->get(counter);
    const uint64_t to = after.get(counter);
    if (to >= from) rates.set(counter, static_cast<double>(to - from) * per_second);  // else it was reset: a gap
  }
  return rates;
}

}  // namespace

void ProcessModel::begin(const Pass &pass) {
  if (passes_ > 0) previous_ = now_;
  now_ = pass;
  ++passes_;
  live_.clear();
}

void ProcessModel::update(const ProcessReading &reading) {
  Process &process = processes_[reading.pid];
  process.rates = now_.baseline ? Rates{} : rates_since_previous(process, reading);
  process.now = reading;
  process.pass = passes_;
  live_.push_back(&process);
}

Rates ProcessModel::rates_since_previous(const Process &before, const ProcessReading &reading) const {
  if (before.pass != 0 && before.now.start_ns == reading.start_ns)
    return rates_of(&before.now.counters, reading.counters, reading.monotonic_ns - before.now.monotonic_ns);
  // A process that did not exist at the previous pass had used nothing then. Nothing is known of one that did, but had no reading.
  const bool born_since = previous_ && previous_->uptime_ns && reading.start_ns >= *previous_->uptime_ns;
  return born_since ? rates_of(nullptr, reading.counters, reading.monotonic_ns - previous_->monotonic_ns) : Rates{};
}

void ProcessModel::end() {
  if (processes_.size() == live_.size()) return;
  for (auto at = processes_.begin(); at != processes_.end();)
    at = at->second.pass == passes_ ? std::next(at) : processes_.erase(at);
}

const Process *ProcessModel::find(int32_t pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() || found->second.pass != passes_ ? nullptr : &found->second;
}

}  // namespace atalaya::proc
