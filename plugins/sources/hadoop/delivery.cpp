// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/delivery.h"

#include <algorithm>
#include <chrono>

#include "core/base/now.h"

namespace atalaya::hadoop {
namespace {

using core::monotonic;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr int64_t kKept = 90 * kDay;          // lifetime of positions of histories whose files are missing
constexpr uint64_t kAttempts = 5;             // per path whose spans a sink refuses
constexpr int64_t kFirstPause = 5 * kSecond;  // before the second attempt; doubled each time
constexpr auto kLastAnswers = std::chrono::seconds(2);

}  // namespace

std::map<std::string, Mark> Delivery::start() {
  std::map<std::string, Mark> marks;
  if (const auto folder = host_.state_dir()) {
    try {
      positions_ = std::make_unique<Positions>(*folder + "/positions.db");
      marks = positions_->files();
    } catch (const store::Error &error) {
      throw Failure(error.cause() == store::Cause::config ? Code::bad_config : Code::retry, error.what());
    }
  }
  const std::lock_guard lock(mutex_);
  stopping_ = false;
  return marks;
}

void Delivery::stop() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    // Spans acknowledged in time are not sent again after a restart.
    wake_.wait_for(lock, kLastAnswers, [this] { return all_settled(); });
  }
  settle();
  positions_.reset();
}

void Delivery::interrupt() noexcept {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
}

bool Delivery::stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

std::optional<protocols::Position> Delivery::stored_position(const std::string &key) {
  return positions_ ? positions_->position_of(key) : std::nullopt;
}

uint64_t Delivery::attempt_of(const std::string &path) const {
  const auto refusal = refusals_.find(path);
  return refusal == refusals_.end() ? 0 : refusal->second.attempt;
}

bool Delivery::send(const std::string &path, const std::string &key, const protocols::Spans &spans, protocols::Position position) {
  Flight flight;
  flight.progress = {key, position, path, std::nullopt};
  flight.attempt = attempt_of(path);
  flight.settled = spans.empty();
  if (flight.settled) return track(std::move(flight));
  atalaya_batch *raw = nullptr;
  if (host_.raw()->new_batch(host_.raw()->self, &raw) != ATALAYA_OK) throw std::bad_alloc();
  Batch batch(host_, raw);
  for (const protocols::Span &span : spans) writer_.write(span, batch);
  return emit(raw, std::move(flight));
}

void Delivery::mark_read(const std::string &path, const Mark &mark) {
  Flight flight;
  flight.settled = true;
  flight.progress = {"", {}, path, mark};
  flight.attempt = attempt_of(path);
  track(std::move(flight));
}

// Adds progress without a batch. False: the host is stopping.
bool Delivery::track(Flight flight) {
  const std::lock_guard lock(mutex_);
  flights_.push_back(std::move(flight));
  return !stopping_;
}

// False: the host is stopping; the batch was not accepted.
bool Delivery::emit(atalaya_batch *batch, Flight flight) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    emitting_ = true;
  }
  const int32_t code = host_.raw()->emit(host_.raw()->self, batch, &flight.id);
  const std::lock_guard lock(mutex_);
  emitting_ = false;
  if (const auto known = early_.find(flight.id); known != early_.end()) {
    flight.settled = true;
    flight.status = known->second;
  }
  early_.clear();
  if (code == ATALAYA_OK) flights_.push_back(std::move(flight));
  return code == ATALAYA_OK;
}

void Delivery::acked(uint64_t batch_id, Code status) noexcept {
  const std::lock_guard lock(mutex_);
  for (Flight &flight : flights_) {
    if (flight.id != batch_id || flight.settled) continue;
    flight.settled = true;
    flight.status = status;
    wake_.notify_all();
    return;
  }
  if (emitting_) early_.emplace(batch_id, status);
}

bool Delivery::all_settled() const {
  return std::all_of(flights_.begin(), flights_.end(), [](const Flight &one) { return one.settled; });
}

std::vector<Delivery::Flight> Delivery::collect_settled() {
  std::vector<Flight> settled;
  const std::lock_guard lock(mutex_);
  while (!flights_.empty() && flights_.front().settled) {
    settled.push_back(std::move(flights_.front()));
    flights_.pop_front();
  }
  return settled;
}

std::set<std::string> Delivery::settle() {
  std::set<std::string> refused;
  std::vector<Positions::Progress> progress;
  for (Flight &flight : collect_settled()) {
    const std::string &path = flight.progress.path;
    if (refusals_.count(path) > 0 && flight.attempt != attempt_of(path)) continue;
    if (flight.status != Code::ok && may_retry(path)) {
      refused.insert(path);
      continue;
    }
    if (flight.progress.mark) refusals_.erase(path);
    progress.push_back(std::move(flight.progress));
  }
  if (!positions_ || progress.empty()) return refused;
  try {
    positions_->save(progress, host_.realtime() / kSecond);
  } catch (const store::Error &error) {
    host_.log(Level::warning, std::string(error.what()) + "; after a restart some spans are sent again");
  }
  return refused;
}

// Schedules the next attempt. Returns false if none is left.
bool Delivery::postpone(Refusal &refusal) {
  if (refusal.attempt + 1 >= kAttempts) return false;
  refusal.again_at = monotonic() + (kFirstPause << refusal.attempt);
  ++refusal.attempt;
  return true;
}

bool Delivery::may_retry(const std::string &path) {
  if (!postpone(refusals_[path])) {
    host_.log(Level::error, path + ": a sink refused its spans " + std::to_string(kAttempts) + " times; giving up");
    return false;
  }
  host_.log(Level::warning, path + ": a sink refused its spans, or they were dropped; sending them again");
  return true;
}

void Delivery::count_attempts(int64_t since) {
  for (auto one = refusals_.begin(); one != refusals_.end();) {
    auto &[path, refusal] = *one;
    if (refusal.again_at > since || postpone(refusal)) {
      ++one;
      continue;
    }
    host_.log(Level::error, path + ": a sink refused its spans, and the file could not be read again; giving up");
    one = refusals_.erase(one);
  }
}

bool Delivery::must_wait(const std::string &path) const {
  const auto refusal = refusals_.find(path);
  return refusal != refusals_.end() && monotonic() < refusal->second.again_at;
}

std::optional<int64_t> Delivery::next_attempt() const {
  std::optional<int64_t> next;
  for (const auto &[path, refusal] : refusals_) next = std::min(next.value_or(INT64_MAX), refusal.again_at);
  return next;
}

bool Delivery::wait_until(int64_t deadline) {
  std::unique_lock lock(mutex_);
  return wake_.wait_until(lock, core::at(deadline),
                          [this] { return stopping_ || (!flights_.empty() && flights_.front().settled); });
}

void Delivery::wait_for_all() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || all_settled(); });
}

void Delivery::forget_all_but(const std::set<std::string> &paths) {
  std::set<std::string> in_flight;  // refusals of these paths are still valid
  {
    const std::lock_guard lock(mutex_);
    for (const Flight &flight : flights_) in_flight.insert(flight.progress.path);
  }
  std::erase_if(refusals_, [&](const auto &one) { return paths.count(one.first) == 0 && in_flight.count(one.first) == 0; });
  if (!positions_ || (forgotten_at_ > 0 && monotonic() < forgotten_at_ + kDay)) return;
  forgotten_at_ = monotonic();
  try {
    positions_->forget_all_but(paths, (host_.realtime() - kKept) / kSecond);
  } catch (const store::Error &error) {
    host_.log(Level::warning, error.what());
  }
}

}  // namespace atalaya::hadoop
