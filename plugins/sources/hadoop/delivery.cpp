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
constexpr int64_t kKept = 90 * kDay;          // positions of histories whose files nobody has seen since
constexpr uint64_t kAttempts = 5;             // that a path gets whose spans a sink refuses
constexpr int64_t kFirstPause = 5 * kSecond;  // before the second one; doubled each time
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
    // What the sinks get in time need not be sent again.
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

std::optional<Position> Delivery::held(const std::string &key) {
  return positions_ ? positions_->of(key) : std::nullopt;
}

uint64_t Delivery::attempt_of(const std::string &path) const {
  const auto trouble = troubles_.find(path);
  return trouble == troubles_.end() ? 0 : trouble->second.attempt;
}

bool Delivery::give(const std::string &path, const std::string &key, const Spans &spans, Position position) {
  Flight flight;
  flight.progress = {key, position, path, std::nullopt};
  flight.attempt = attempt_of(path);
  flight.settled = spans.empty();
  if (flight.settled) return fly(std::move(flight));
  atalaya_batch *raw = nullptr;
  if (host_.raw()->new_batch(host_.raw()->self, &raw) != ATALAYA_OK) throw std::bad_alloc();
  Batch batch(host_, raw);
  for (const Span &span : spans) writer_.write(span, batch);
  return emit(raw, std::move(flight));
}

void Delivery::note_read(const std::string &path, const Mark &mark) {
  Flight flight;
  flight.settled = true;
  flight.progress = {"", {}, path, mark};
  flight.attempt = attempt_of(path);
  fly(std::move(flight));
}

// Nothing of it has to arrive. False: the host is stopping.
bool Delivery::fly(Flight flight) {
  const std::lock_guard lock(mutex_);
  flights_.push_back(std::move(flight));
  return !stopping_;
}

// False: the host is stopping, and did not take it.
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

std::vector<Delivery::Flight> Delivery::take_settled() {
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
  for (Flight &flight : take_settled()) {
    const std::string &path = flight.progress.path;
    if (troubles_.count(path) > 0 && flight.attempt != attempt_of(path)) continue;
    if (flight.status != Code::ok && try_again(path)) {
      refused.insert(path);
      continue;
    }
    if (flight.progress.mark) troubles_.erase(path);
    progress.push_back(std::move(flight.progress));
  }
  if (!positions_ || progress.empty()) return refused;
  try {
    positions_->save(progress, host_.realtime() / kSecond);
  } catch (const store::Error &error) {
    host_.log(Level::warning, std::string(error.what()) + "; after a restart some spans are sent once more");
  }
  return refused;
}

// False: it has been tried often enough.
bool Delivery::postpone(Trouble &trouble) {
  if (trouble.attempt + 1 >= kAttempts) return false;
  trouble.again_at = monotonic() + (kFirstPause << trouble.attempt);
  ++trouble.attempt;
  return true;
}

bool Delivery::try_again(const std::string &path) {
  if (!postpone(troubles_[path])) {
    host_.log(Level::error, path + ": a sink refused its spans " + std::to_string(kAttempts) + " times; they are given up");
    return false;
  }
  host_.log(Level::warning, path + ": a sink refused its spans, or they were dropped on the way; they are sent again");
  return true;
}

void Delivery::count_tries(int64_t since) {
  for (auto one = troubles_.begin(); one != troubles_.end();) {
    auto &[path, trouble] = *one;
    if (trouble.again_at > since || postpone(trouble)) {
      ++one;
      continue;
    }
    host_.log(Level::error, path + ": a sink refused its spans, and it could not be read again; they are given up");
    one = troubles_.erase(one);
  }
}

bool Delivery::has_to_wait(const std::string &path) const {
  const auto trouble = troubles_.find(path);
  return trouble != troubles_.end() && monotonic() < trouble->second.again_at;
}

std::optional<int64_t> Delivery::next_try() const {
  std::optional<int64_t> next;
  for (const auto &[path, trouble] : troubles_) next = std::min(next.value_or(INT64_MAX), trouble.again_at);
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
  std::set<std::string> under_way;  // what a refusal says of those still holds
  {
    const std::lock_guard lock(mutex_);
    for (const Flight &flight : flights_) under_way.insert(flight.progress.path);
  }
  std::erase_if(troubles_, [&](const auto &one) { return paths.count(one.first) == 0 && under_way.count(one.first) == 0; });
  if (!positions_ || (forgotten_at_ > 0 && monotonic() < forgotten_at_ + kDay)) return;
  forgotten_at_ = monotonic();
  try {
    positions_->forget_all_but(paths, (host_.realtime() - kKept) / kSecond);
  } catch (const store::Error &error) {
    host_.log(Level::warning, error.what());
  }
}

}  // namespace atalaya::hadoop
