// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/source_thread.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/log.h"
#include "core/base/now.h"
#include "core/pipeline/clock.h"

namespace atalaya::core {
namespace {

constexpr size_t kMaxWaiting = 4;
constexpr int64_t kInterruptAgain = 50'000'000;

bool is_push(const Instance &instance) {
  return (instance.component().flags & ATALAYA_PUSH) != 0;
}

}  // namespace

SourceThread::SourceThread(Ledger &ledger, std::string state_dir, std::shared_ptr<BatchPool> pool, std::function<void()> arrived)
    : CountingSurroundings(ledger, std::move(state_dir)), pool_(std::move(pool)), arrived_(std::move(arrived)) {}

SourceThread::~SourceThread() {
  if (thread_.joinable()) stop(read_clocks().monotonic);
}

void SourceThread::run(Instance &instance) {
  instance_ = &instance;
  thread_ = std::thread([this] {
    if (is_push(*instance_)) {
      push_loop();
    } else {
      collect_loop();
    }
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
      wake_.notify_all();
    }
    arrived_();
  });
}

void SourceThread::push_loop() {
  static constexpr int64_t kFirstWait = 100, kMaxWait = 30'000;  // ms
  static constexpr int64_t kGoodRun = 60'000'000'000;
  // The first run starts even if the stop came before it: the source may have accepted input since its start, and emits it at its
  // end.
  for (int64_t wait = kFirstWait;; wait = std::min(wait * 2, kMaxWait)) {
    const int64_t begin = read_clocks().monotonic;
    const Outcome outcome = instance_->run();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_ || outcome.code == ATALAYA_END) return;
    }
    if (read_clocks().monotonic - begin > kGoodRun) wait = kFirstWait;
    log_limited(LogLevel::error, instance_->label() + ": " + (outcome.ok() ? "ended without being asked to" : outcome.text));
    if (outcome.code == ATALAYA_UNSUPPORTED || outcome.code == ATALAYA_BAD_CONFIG) return;
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, std::chrono::milliseconds(wait), [this] { return stopping_; })) return;
  }
}

void SourceThread::collect_loop() {
  while (const auto window = next_window()) {
    Arrival arrival;
    arrival.window = *window;
    arrival.batch = pool_->take();
    const int64_t begin = read_clocks().monotonic;
    arrival.outcome = instance_->collect(arrival.window, *arrival.batch);
    arrival.busy_ns = read_clocks().monotonic - begin;
    arrive(std::move(arrival));
  }
}

// The next window to collect; nothing at the end. After the stop request, a requested window is collected, then the retained
// samples.
std::optional<atalaya_window> SourceThread::next_window() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || requested_; });
  busy_ = true;
  if (requested_) return collected_ = std::exchange(requested_, std::nullopt);
  if (!last_call_ || !collected_) return std::nullopt;
  return last_call_after(*std::exchange(collected_, std::nullopt));
}

void SourceThread::arrive(Arrival arrival) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(arrival));
    busy_ = false;
  }
  arrived_();
}

bool SourceThread::request(const atalaya_window &window) {
  const std::lock_guard lock(mutex_);
  if (busy_ || requested_ || !waiting_.empty()) return false;
  requested_ = window;
  wake_.notify_all();
  return true;
}

std::optional<SourceThread::Arrival> SourceThread::take() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return std::nullopt;
  Arrival arrival = std::move(waiting_.front());
  waiting_.pop_front();
  if (is_push(*instance_)) wake_.notify_all();  // its emit may wait for space in the queue
  return arrival;
}

bool SourceThread::ended() {
  const std::lock_guard lock(mutex_);
  return done_ && waiting_.empty();
}

BatchOwner SourceThread::new_batch() {
  return pool_->take();
}

int32_t SourceThread::emit(BatchOwner batch, uint64_t &id) {
  if (!is_push(*instance_)) return Surroundings::emit(std::move(batch), id);  // the queue of a pull source does not wake its emit
  {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return stopping_ || waiting_.size() < kMaxWaiting; });
    if (stopping_ && waiting_.size() >= kMaxWaiting) return ATALAYA_END;  // the engine takes no batches until the source has ended
    id = ++last_id_;
    Arrival arrival;
    arrival.batch = std::move(batch);
    arrival.id = id;
    const ClockReading now = read_clocks();
    arrival.window = {sizeof(atalaya_window), 0, now.realtime, 0, 0, now.monotonic};
    waiting_.push_back(std::move(arrival));
  }
  arrived_();
  return ATALAYA_OK;
}

bool SourceThread::stop(int64_t deadline_ns, bool last_call) {
  if (!thread_.joinable()) return true;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    last_call_ = last_call;
    wake_.notify_all();
  }
  // Half of the time, so that an interrupted call ends before the deadline.
  const int64_t now = read_clocks().monotonic;
  instance_->end_by(now + (deadline_ns - now) / 2);
  // Repeats the interrupt: one that arrives between two waits of the source may be missed.
  bool finished = false;
  do {
    if (is_push(*instance_)) instance_->interrupt();
    std::unique_lock lock(mutex_);
    const int64_t until = std::min(deadline_ns, read_clocks().monotonic + kInterruptAgain);
    finished = wake_.wait_until(lock, at(until), [this] { return done_; });
  } while (!finished && read_clocks().monotonic < deadline_ns);
  if (finished) {
    thread_.join();
  } else {
    log(LogLevel::error, instance_->label() + ": hangs in a call; it is left behind");
    thread_.detach();
  }
  return finished;
}

}  // namespace atalaya::core
