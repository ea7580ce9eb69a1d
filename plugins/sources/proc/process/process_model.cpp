// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/process/process_model.h"

#include <algorithm>

namespace atalaya::proc {
namespace {

// A process that disappears without a reported end is kept for this time. Its end is reported when the kernel frees it, which may
// be 10 s later (CONFIG_RCU_LAZY); the BPF backend reports it after 12 s and a window at the latest.
constexpr int64_t kMaxEndDelay = 40'000'000'000;

uint64_t grown(const procfs::ProcessReading *before, const procfs::ProcessReading &after, procfs::Counter counter) {
  const uint64_t from = before == nullptr || !before->counters.has(counter) ? 0 : before->counters.get(counter);
  const uint64_t to = after.counters.has(counter) ? after.counters.get(counter) : 0;
  return to > from ? to - from : 0;
}

std::optional<double> user_share(double user, double kernel) {
  return user + kernel > 0 ? std::optional(user / (user + kernel)) : std::nullopt;
}

// Returns the share of CPU time in user mode: by the ticks of the same interval, else by those since the start, else the usual
// share. If all are 0, returns 1, as in the kernel (cputime_adjust in kernel/sched/cputime.c).
double user_share(const procfs::ProcessReading *before, const procfs::ProcessReading &after, const CpuTime &usual) {
  if (after.kernel_thread) return 0;
  const auto since = [&](const procfs::ProcessReading *from) {
    return user_share(static_cast<double>(grown(from, after, procfs::Counter::user_ns)),
                      static_cast<double>(grown(from, after, procfs::Counter::kernel_ns)));
  };
  if (const auto share = since(before)) return *share;
  if (const auto share = since(nullptr)) return *share;
  return user_share(static_cast<double>(usual.user_ns), static_cast<double>(usual.kernel_ns)).value_or(1);
}

void set_cpu_time(Counters &growth, uint64_t cpu_ns, double user_share) {
  const uint64_t user_ns = std::min(static_cast<uint64_t>(static_cast<double>(cpu_ns) * user_share), cpu_ns);
  growth.set(procfs::Counter::user_ns, user_ns);
  growth.set(procfs::Counter::kernel_ns, cpu_ns - user_ns);
}

uint64_t cpu_of(const procfs::ProcessReading &reading) {
  return reading.counters.get(procfs::Counter::user_ns) + reading.counters.get(procfs::Counter::kernel_ns);
}

// Both parts are known, and one of them decreased but the sum did not: the kernel changed the division.
bool shifted(const procfs::ProcessReading *before, const procfs::ProcessReading &after, const Counters &growth) {
  if (before == nullptr || growth.has(procfs::Counter::user_ns) == growth.has(procfs::Counter::kernel_ns)) return false;
  for (const procfs::Counter counter : {procfs::Counter::user_ns, procfs::Counter::kernel_ns})
    if (!before->counters.has(counter) || !after.counters.has(counter)) return false;
  return cpu_of(after) >= cpu_of(*before);
}

void divide_cpu_time(const procfs::ProcessReading *before, const procfs::ProcessReading &after, const CpuTime &usual,
                     Counters &growth) {
  if (after.exec_ns == 0) {
    if (shifted(before, after, growth))
      set_cpu_time(growth, cpu_of(after) - cpu_of(*before), growth.has(procfs::Counter::user_ns) ? 1 : 0);
    return;
  }
  growth.forget(procfs::Counter::user_ns);
  growth.forget(procfs::Counter::kernel_ns);
  if (before != nullptr && before->partial && before->exec_ns == 0) return;  // it never had a complete reading
  const uint64_t from = before == nullptr ? 0 : before->exec_ns;
  if (after.exec_ns >= from) set_cpu_time(growth, after.exec_ns - from, user_share(before, after, usual));
}

bool counts_same_io(const procfs::ProcessReading *before, const procfs::ProcessReading &after) {
  const uint32_t basis = before == nullptr ? uint32_t{procfs::kIoSinceStart} : before->io_basis;
  return basis == after.io_basis || (basis == procfs::kIoSinceStart && after.io_basis == procfs::kIoOfMainThread);
}

// While a thread exits, BPF counts its calls neither with the live threads nor with the ended ones.
void hold_calls(const procfs::ProcessReading &before, procfs::ProcessReading &after) {
  if (before.io_basis != after.io_basis) return;
  for (size_t i = 0; i < procfs::kCounters; ++i) {
    const auto counter = static_cast<procfs::Counter>(i);
    if (counts_calls(counter) && before.counters.has(counter) && after.counters.has(counter))
      after.counters.set(counter, std::max(before.counters.get(counter), after.counters.get(counter)));
  }
}

}  // namespace

Counters growth_of(const procfs::ProcessReading *before, const procfs::ProcessReading &after, const CpuTime &usual) {
  Counters growth;
  const bool same_io = counts_same_io(before, after);
  for (size_t i = 0; i < procfs::kCounters; ++i) {
    const auto counter = static_cast<procfs::Counter>(i);
    if (!after.counters.has(counter) || (before != nullptr && !before->counters.has(counter))) continue;
    if (counts_io(counter) && !same_io) continue;
    const uint64_t from = before == nullptr ? 0 : before->counters.get(counter);
    const uint64_t to = after.counters.get(counter);
    if (to >= from) growth.set(counter, to - from);
  }
  divide_cpu_time(before, after, usual, growth);
  // The waiting time of a thread is lost when it ends.
  if (after.ended_threads_ns != (before == nullptr ? 0 : before->ended_threads_ns)) growth.forget(procfs::Counter::delay_ns);
  return growth;
}

void ProcessModel::begin(const Pass &pass) {
  if (passes_ > 0) previous_ = now_;
  now_ = pass;
  if (pass.baseline || passes_ == 0) first_uptime_ns_ = pass.uptime_ns;
  ++passes_;
  cursor_ = 0;
  live_.clear();
  formerly_idle_.clear();
  used_ = {};
}

// Passes come in a similar order: usually the next one is right after the last one.
ProcessModel::Places::iterator ProcessModel::place_of(int32_t pid) {
  const auto below = [](const Place &place, int32_t wanted) { return place.pid < wanted; };
  const auto at = places_.begin() + static_cast<ptrdiff_t>(cursor_);
  if (at != places_.end() && at->pid == pid) return at;
  const bool is_before = cursor_ > 0 && places_[cursor_ - 1].pid >= pid;
  return is_before ? std::lower_bound(places_.begin(), at, pid, below) : std::lower_bound(at, places_.end(), pid, below);
}

Process *ProcessModel::new_process() {
  if (free_.empty()) free_.push_back(&processes_.emplace_back());
  Process *process = free_.back();
  free_.pop_back();
  *process = {};
  return process;
}

Process &ProcessModel::process_of(const procfs::ProcessReading &reading) {
  auto at = place_of(reading.pid);
  if (at == places_.end() || at->pid != reading.pid) {
    at = places_.insert(at, {reading.pid, new_process()});
  } else if (at->process->now.start_ns != reading.start_ns) {
    end_idle(*at->process);
    replaced_.push_back(at->process);
    at->process = new_process();
  }
  cursor_ = static_cast<size_t>(at - places_.begin()) + 1;
  return *at->process;
}

void ProcessModel::update(const procfs::ProcessReading &read) {
  procfs::ProcessReading &reading = reading_;
  reading = read;
  reading.monotonic_ns = now_.monotonic_ns;
  Process &process = process_of(reading);
  end_idle(process);
  process.rates = {};
  process.elapsed_ns = 0;
  const bool known = process.pass != 0;
  if (known) hold_calls(process.now, reading);
  if (!known) process.was_zombie = process.end_counted = reading.ended && started_since_previous_pass(reading.start_ns);
  if (reading.partial && !now_.baseline && known) {
    update_gauges(process, reading);
  } else {
    if (!now_.baseline) set_rates(process, reading);
    process.now = reading;
  }
  process.pass = passes_;
  process.first_missed_ns = 0;
  process.unread = process.is_idle = process.ended_now = false;
  live_.push_back(&process);
}

void ProcessModel::end_idle(Process &process) {
  if (process.idle_until_ns == 0) return;
  formerly_idle_.push_back(process);
  process.idle_from_ns = process.idle_until_ns = 0;
}

// Replaces the reading except its counters: they remain those of the last complete reading, so that the next growth starts there.
void ProcessModel::update_gauges(Process &process, const procfs::ProcessReading &reading) const {
  procfs::ProcessReading &now = process.now;
  if (process.unread) now.monotonic_ns = previous_->monotonic_ns;
  const procfs::ProcessReading complete = now;
  now = reading;
  now.counters = complete.counters;
  now.exec_ns = complete.exec_ns;
  now.ended_threads_ns = complete.ended_threads_ns;
  now.monotonic_ns = complete.monotonic_ns;
}

bool ProcessModel::mark_idle(int32_t pid) {
  const auto at = place_of(pid);
  if (at == places_.end() || at->pid != pid) return false;
  cursor_ = static_cast<size_t>(at - places_.begin()) + 1;
  Process &process = *at->process;
  if (!process.unread || process.ended_now) process.rates = {};
  process.elapsed_ns = 0;
  process.ended_now = false;
  process.pass = passes_;
  process.first_missed_ns = 0;
  process.unread = true;
  process.is_idle = !now_.baseline;
  live_.push_back(&process);
  return true;
}

// A process that did not exist at the previous pass had used nothing then.
bool ProcessModel::started_since_previous_pass(uint64_t start_ns) const {
  return previous_ && previous_->uptime_ns && start_ns >= *previous_->uptime_ns;
}

void ProcessModel::set_rates(Process &process, const procfs::ProcessReading &reading) {
  if (process.end_counted) return;
  const bool known = process.pass != 0;
  // The rates of a process that existed at the previous pass, but was not read, are unknown.
  if (!known && !started_since_previous_pass(reading.start_ns)) return;
  const Counters growth = growth_of(known ? &process.now : nullptr, reading);
  if (growth.has(procfs::Counter::user_ns)) used_.user_ns += growth.get(procfs::Counter::user_ns);
  if (growth.has(procfs::Counter::kernel_ns)) used_.kernel_ns += growth.get(procfs::Counter::kernel_ns);
  // An idle process used nothing until the previous pass.
  const bool read_before = known && !process.unread;
  const int64_t elapsed_ns = reading.monotonic_ns - (read_before ? process.now.monotonic_ns : previous_->monotonic_ns);
  if (elapsed_ns <= 0) return;
  process.elapsed_ns = elapsed_ns;
  const double per_second = 1e9 / static_cast<double>(elapsed_ns);
  for (size_t i = 0; i < procfs::kCounters; ++i) {
    const auto counter = static_cast<procfs::Counter>(i);
    if (growth.has(counter)) process.rates.set(counter, static_cast<double>(growth.get(counter)) * per_second);
  }
}

std::optional<Counters> ProcessModel::usage_since_last_reading(const procfs::ProcessReading &last) {
  Process *before = known(last.pid, last.start_ns);
  if (before == nullptr) return lived_between_passes(last.start_ns) ? std::optional(usage_since_start(last)) : std::nullopt;
  add_ended_ticks(last);
  const Counters growth = growth_of(before->was_zombie ? nullptr : &before->now, last, ended_ticks_);
  before->end_counted = true;
  before->was_zombie = false;
  if (before->pass == passes_) add_last(*before, growth);
  return growth;
}

Counters ProcessModel::usage_since_start(const procfs::ProcessReading &last) {
  add_ended_ticks(last);
  return growth_of(nullptr, last, ended_ticks_);
}

void ProcessModel::add_ended_ticks(const procfs::ProcessReading &last) {
  const auto ticks = [&last](procfs::Counter counter) { return last.counters.has(counter) ? last.counters.get(counter) : 0; };
  ended_ticks_.user_ns += ticks(procfs::Counter::user_ns);
  ended_ticks_.kernel_ns += ticks(procfs::Counter::kernel_ns);
}

void ProcessModel::add_last(Process &process, const Counters &growth) const {
  process.ended_now = true;
  if (!previous_ || now_.baseline || now_.monotonic_ns <= previous_->monotonic_ns) return;
  if (process.elapsed_ns <= 0) process.elapsed_ns = now_.monotonic_ns - previous_->monotonic_ns;
  const double per_second = 1e9 / static_cast<double>(process.elapsed_ns);
  for (size_t i = 0; i < procfs::kCounters; ++i) {
    const auto counter = static_cast<procfs::Counter>(i);
    if (!growth.has(counter) && !process.has_rate(counter)) continue;
    const double last = growth.has(counter) ? static_cast<double>(growth.get(counter)) * per_second : 0;
    process.rates.set(counter, process.rate(counter) + last);
  }
  process.is_idle = false;
}

// Called for an unknown process: a process that was alive in a pass is known, or was removed.
bool ProcessModel::lived_between_passes(uint64_t start_ns) const {
  return first_uptime_ns_ && start_ns >= *first_uptime_ns_ && start_ns > forgotten_start_ns_;
}

void ProcessModel::end() {
  std::erase_if(replaced_, [this](Process *process) { return may_remove(*process); });
  if (places_.size() == live_.size()) return;
  std::erase_if(places_, [this](const Place &place) { return may_remove(*place.process); });
}

// The time counts from the first pass that missed it: windows may be longer than the delay.
bool ProcessModel::may_remove(Process &process) {
  if (process.pass == passes_) return false;
  end_idle(process);
  if (process.first_missed_ns == 0) process.first_missed_ns = now_.monotonic_ns;
  if (!process.end_counted && now_.monotonic_ns - process.first_missed_ns < kMaxEndDelay) return false;
  if (!process.end_counted) forgotten_start_ns_ = std::max(forgotten_start_ns_, process.now.start_ns);
  free_.push_back(&process);
  return true;
}

Process *ProcessModel::known(int32_t pid) const {
  const auto at =
      std::lower_bound(places_.begin(), places_.end(), pid, [](const Place &place, int32_t wanted) { return place.pid < wanted; });
  return at == places_.end() || at->pid != pid ? nullptr : at->process;
}

Process *ProcessModel::known(int32_t pid, uint64_t start_ns) const {
  Process *last = known(pid);
  if (last != nullptr && last->now.start_ns == start_ns) return last;
  const auto is_it = [&](const Process *process) { return process->now.pid == pid && process->now.start_ns == start_ns; };
  const auto found = std::find_if(replaced_.begin(), replaced_.end(), is_it);
  return found == replaced_.end() ? nullptr : *found;
}

const Process *ProcessModel::find(int32_t pid) const {
  const Process *process = known(pid);
  return process == nullptr || process->pass != passes_ ? nullptr : process;
}

const procfs::ProcessReading *ProcessModel::last_reading(int32_t pid) const {
  const Process *process = known(pid);
  return process == nullptr ? nullptr : &process->now;
}

const procfs::ProcessReading *ProcessModel::last_reading(int32_t pid, uint64_t start_ns) const {
  const Process *process = known(pid, start_ns);
  return process == nullptr ? nullptr : &process->now;
}

bool ProcessModel::pass_includes(int32_t pid, uint64_t start_ns) const {
  const Process *process = known(pid, start_ns);
  return process != nullptr && process->pass == passes_;
}

}  // namespace atalaya::proc
