// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/power/energy_meter.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/base/now.h"

namespace atalaya::power {

std::optional<uint64_t> counts_between(const Zone &zone, uint64_t before, uint64_t now, double seconds) {
  if (now < before && (before > zone.range || now > zone.range)) return std::nullopt;
  const uint64_t counts = now >= before ? now - before : zone.range - before + 1 + now;
  if (static_cast<double>(counts) * zone.joules > zone.max_watts * seconds) return std::nullopt;
  return counts;
}

EnergyMeter::EnergyMeter(std::unique_ptr<EnergyCounters> counters)
    : counters_(std::move(counters)), states_(counters_->zones().size()) {}

void EnergyMeter::change(std::unique_ptr<EnergyCounters> counters) {
  const std::lock_guard lock(mutex_);
  std::vector<State> states(counters->zones().size());
  for (size_t i = 0; i < states.size(); ++i) {
    const auto known = std::find(zones().begin(), zones().end(), counters->zones()[i]);
    if (known != zones().end()) states[i] = states_[static_cast<size_t>(known - zones().begin())];
  }
  counters_ = std::move(counters);
  states_ = std::move(states);
}

bool EnergyMeter::has_stopped(size_t zone) const {
  const Domain domain = zones()[zone].domain;  // only packages are checked: parts of a package may be idle
  return (domain == Domain::package || domain == Domain::platform) && states_[zone].counts == 0;
}

bool EnergyMeter::is_too_early() const {
  for (size_t i = 0; i < states_.size(); ++i)
    if (states_[i].is_complete && has_stopped(i) && states_[i].seconds() < kMaxStoppedSeconds) return true;
  return false;
}

std::vector<std::optional<Energy>> EnergyMeter::take(int64_t now_ns, std::optional<int64_t> window_ns) {
  const std::lock_guard lock(mutex_);
  poll_locked(now_ns);
  std::vector<std::optional<Energy>> taken(states_.size());
  stopped_zone_.clear();
  if (is_too_early()) return taken;
  for (size_t i = 0; i < states_.size(); ++i) {
    State &state = states_[i];
    const double seconds = static_cast<double>(window_ns.value_or(now_ns) - state.window_ns) / 1e9;
    const bool is_known = state.is_complete && state.seconds() > 0 && seconds > 0;
    if (is_known && has_stopped(i))
      stopped_zone_ = zones()[i].name;
    else if (is_known)
      taken[i] = Energy{static_cast<double>(state.counts) * zones()[i].joules, seconds};
    state.since_ns = state.last_ns;
    state.window_ns = window_ns.value_or(now_ns);
    state.counts = 0;
    state.is_complete = state.last.has_value();
  }
  return taken;
}

void EnergyMeter::poll(int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  poll_locked(now_ns);
}

void EnergyMeter::poll_locked(int64_t now_ns) {
  for (size_t i = 0; i < states_.size(); ++i) {
    State &state = states_[i];
    if (state.last && now_ns <= state.last_ns) continue;  // the background thread has read the counter after the caller's time
    const std::optional<uint64_t> now = counters_->read(i);
    const double seconds = static_cast<double>(now_ns - state.last_ns) / 1e9;
    const auto counts = now && state.last ? counts_between(zones()[i], *state.last, *now, seconds) : std::nullopt;
    if (counts) state.counts += *counts;
    if (!counts) state.is_complete = false;
    state.last = now;
    state.last_ns = now_ns;
  }
}

void EnergyMeter::forget() {
  const std::lock_guard lock(mutex_);
  std::fill(states_.begin(), states_.end(), State{});
}

int64_t EnergyMeter::max_interval_ns() const {
  double shortest = 1e9;  // in seconds
  for (const Zone &zone : zones()) shortest = std::min(shortest, static_cast<double>(zone.range) * zone.joules / zone.max_watts);
  return static_cast<int64_t>(shortest / 2 * 1e9);
}

void EnergyMeter::start_polling(int64_t interval_ns) {
  if (thread_.joinable() || interval_ns <= max_interval_ns()) return;
  stopping_ = false;
  thread_ = std::thread([this] { run(); });
}

void EnergyMeter::run() {
  const auto pause = [this] { return std::chrono::nanoseconds(max_interval_ns()); };
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause(), [this] { return stopping_; })) poll_locked(core::monotonic());
}

void EnergyMeter::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

}  // namespace atalaya::power
