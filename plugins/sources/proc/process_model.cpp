// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process_model.h"

#include <algorithm>

namespace atalaya::proc {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

uint64_t grown(const ProcessReading *before, const ProcessReading &after, Counter counter) {
  const uint64_t from = before == nullptr || !before->counters.has(counter) ? 0 : before->counters.get(counter);
  const uint64_t to = after.counters.has(counter) ? after.counters.get(counter) : 0;
  return to > from ? to - from : 0;
}

// Of the time on a CPU the part in user mode: by the ticks of the same time, else by those of its life; without any the kernel
// itself says all was user mode (cputime_adjust in kernel/sched/cputime.c).
uint64_t user_part(const ProcessReading *before, const ProcessReading &after, uint64_t exec_ns) {
  if (after.kernel_thread) return 0;
  for (const ProcessReading *since : {before, static_cast<const ProcessReading *>(nullptr)}) {
    const auto user = static_cast<double>(grown(since, after, Counter::user_ns));
    const auto kernel = static_cast<double>(grown(since, after, Counter::kernel_ns));
    if (user + kernel > 0) return static_cast<uint64_t>(static_cast<double>(exec_ns) * (user / (user + kernel)));
  }
  return exec_ns;
}

void divide_cpu_time(const ProcessReading *before, const ProcessReading &after, Counters &growth) {
  growth.forget(Counter::user_ns);
  growth.forget(Counter::kernel_ns);
  const uint64_t from = before == nullptr ? 0 : before->exec_ns;
  if (after.exec_ns < from) return;
  const uint64_t exec_ns = after.exec_ns - from;
  const uint64_t user_ns = std::min(user_part(before, after, exec_ns), exec_ns);
  growth.set(Counter::user_ns, user_ns);
  growth.set(Counter::kernel_ns, exec_ns - user_ns);
}

}  // namespace

Counters growth_of(const ProcessReading *before, const ProcessReading &after) {
  Counters growth;
  for (size_t i = 0; i < kCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    if (!after.counters.has(counter) || (before != nullptr && !before->counters.has(counter))) continue;
    const uint64_t from = before == nullptr ? 0 : before->counters.get(counter);
    const uint64_t to = after.counters.get(counter);
    if (to >= from) growth.set(counter, to - from);
  }
  if (after.exec_ns != 0) divide_cpu_time(before, after, growth);
  // A thread that ends takes the time it waited for a CPU with it.
  if (after.ended_threads_ns != (before == nullptr ? 0 : before->ended_threads_ns)) growth.forget(Counter::delay_ns);
  return growth;
}

void ProcessModel::begin(const Pass &pass) {
  if (passes_ > 0) previous_ = now_;
  now_ = pass;
  ++passes_;
  cursor_ = 0;
  live_.clear();
  used_ = {};
}

ProcessModel::Places::iterator ProcessModel::place_of(int32_t pid) {
  const auto below = [](const Place &place, int32_t wanted) { return place.pid < wanted; };
  auto at = places_.begin() + static_cast<ptrdiff_t>(cursor_);
  if (cursor_ > 0 && places_[cursor_ - 1].pid >= pid) return std::lower_bound(places_.begin(), at, pid, below);
  while (at != places_.end() && at->pid < pid) ++at;
  return at;
}

Process &ProcessModel::process_of(int32_t pid) {
  auto at = place_of(pid);
  if (at == places_.end() || at->pid != pid) {
    if (free_.empty()) free_.push_back(&processes_.emplace_back());
    *free_.back() = {};
    at = places_.insert(at, {pid, free_.back()});
    free_.pop_back();
  }
  cursor_ = static_cast<size_t>(at - places_.begin()) + 1;
  return *at->process;
}

void ProcessModel::update(const ProcessReading &reading) {
  Process &process = process_of(reading.pid);
  process.rested = false;
  process.rates = {};
  if (!now_.baseline) set_rates(process, reading);
  process.now = reading;
  process.pass = passes_;
  live_.push_back(&process);
}

bool ProcessModel::rests(int32_t pid) {
  const auto at = place_of(pid);
  if (at == places_.end() || at->pid != pid) return false;
  cursor_ = static_cast<size_t>(at - places_.begin()) + 1;
  Process &process = *at->process;
  process.rested = !now_.baseline;
  process.rates = {};
  process.now.monotonic_ns = now_.monotonic_ns;
  process.pass = passes_;
  live_.push_back(&process);
  return true;
}

// A process that did not exist at the previous pass had used nothing then.
bool ProcessModel::born_since_previous_pass(uint64_t start_ns) const {
  return previous_ && previous_->uptime_ns && start_ns >= *previous_->uptime_ns;
}

void ProcessModel::set_rates(Process &process, const ProcessReading &reading) {
  const bool known = process.pass != 0 && process.now.start_ns == reading.start_ns;
  // Nothing is known of one that existed at the previous pass, but had no reading.
  if (!known && !born_since_previous_pass(reading.start_ns)) return;
  const Counters growth = growth_of(known ? &process.now : nullptr, reading);
  if (growth.has(Counter::user_ns)) used_.user_ns += growth.get(Counter::user_ns);
  if (growth.has(Counter::kernel_ns)) used_.kernel_ns += growth.get(Counter::kernel_ns);
  const int64_t elapsed_ns = reading.monotonic_ns - (known ? process.now.monotonic_ns : previous_->monotonic_ns);
  if (elapsed_ns <= 0) return;
  const double per_second = kNanosecondsPerSecond / static_cast<double>(elapsed_ns);
  for (size_t i = 0; i < kCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    if (growth.has(counter)) process.rates.set(counter, static_cast<double>(growth.get(counter)) * per_second);
  }
}

std::optional<Counters> ProcessModel::last_growth(const ProcessReading &last) const {
  const auto at = std::lower_bound(places_.begin(), places_.end(), last.pid,
                                   [](const Place &place, int32_t wanted) { return place.pid < wanted; });
  if (at != places_.end() && at->pid == last.pid && at->process->now.start_ns == last.start_ns)
    return growth_of(&at->process->now, last);
  if (!born_since_previous_pass(last.start_ns)) return std::nullopt;
  return growth_of(nullptr, last);
}

void ProcessModel::end() {
  if (places_.size() == live_.size()) return;
  std::erase_if(places_, [this](const Place &place) {
    if (place.process->pass + 1 >= passes_) return false;
    free_.push_back(place.process);
    return true;
  });
}

const Process *ProcessModel::find(int32_t pid) const {
  const auto at =
      std::lower_bound(places_.begin(), places_.end(), pid, [](const Place &place, int32_t wanted) { return place.pid < wanted; });
  return at == places_.end() || at->pid != pid || at->process->pass != passes_ ? nullptr : at->process;
}

}  // namespace atalaya::proc
