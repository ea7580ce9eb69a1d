// SPDX-License-Identifier: Apache-2.0
#include "core/delivery/sink_worker.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "core/base/encode/crc32c.h"
#include "core/base/files.h"
#include "core/base/log.h"
#include "core/base/now.h"

namespace atalaya::core {
namespace {

constexpr int64_t kFirstRetry = 100'000'000;
constexpr int64_t kMaxRetry = 30'000'000'000;

// A time in [0, spread): always equal for one host, and evenly distributed over hosts.
int64_t offset_of(std::string_view host, int64_t spread_ns) {
  return static_cast<int64_t>(static_cast<double>(crc32c(host)) / 4294967296.0 * static_cast<double>(spread_ns));
}

int64_t samples_of(const Delivery &delivery) {
  return static_cast<int64_t>(delivery.batch->count());
}
int64_t bytes_of(const Delivery &delivery) {
  return static_cast<int64_t>(delivery.batch->held_bytes());
}

}  // namespace

SinkWorker::SinkWorker(const StageDescription &description, std::string name, Symbols &symbols, Ledger &ledger,
                       std::string_view host, std::function<void()> on_queue_space, Launcher *launcher)
    : description_(description),
      offset_ns_(offset_of(host, description.queue.spread_ns)),
      name_(std::move(name)),
      symbols_(symbols),
      ledger_(ledger),
      on_queue_space_(std::move(on_queue_space)),
      launcher_(launcher),
      surroundings_(ledger, state_folder() + "/" + name_) {}

SinkWorker::~SinkWorker() {
  if (thread_.joinable()) {
    begin_stop(monotonic());
    end_stop();
  }
  // A sink that hangs in a call still uses its instance, which must therefore not be destroyed.
  if (!done_) static_cast<void>(instance_.release());
}

Status SinkWorker::create() {
  auto made = make_instance(description_.isolation, description_.component, description_.parameters,
                            "sink \"" + description_.name + "\"", symbols_, surroundings_, launcher_);
  if (!made) return Error{made.error()};
  instance_ = std::move(*made);
  return Done{};
}

Status SinkWorker::start() {
  if (!description_.spool.dir.empty())
    if (Status opened = open_spool(); !opened) return opened;
  const Outcome outcome = instance_->start();
  if (!outcome.ok()) {
    spool_.reset();
    return Error{outcome.text};
  }
  done_ = false;
  filled_ = spool_ == nullptr;
  thread_ = std::thread([this] { run(); });
  if (spool_) filler_ = std::thread([this] { fill_spool(); });
  return Done{};
}

bool SinkWorker::full() const {
  return description_.queue.when_full == WhenFull::block && queued_bytes_ >= description_.queue.max_bytes;
}

void SinkWorker::push(Delivery delivery, std::vector<Delivery> &dropped) {
  const auto drop = [&](Delivery &victim) {
    count_dropped(*victim.row, "queue full", samples_of(victim));
    if (spool_) unrecorded_.push_back({victim.row->pipeline, "queue full", victim.batch->count()});
    if (victim.ack) victim.ack->refuse();
    dropped.push_back(std::move(victim));
  };
  const int64_t samples = samples_of(delivery);
  const int64_t bytes = bytes_of(delivery);
  delivery.row->counts.in += samples;
  if (queued_bytes_ > 0 && queued_bytes_ + bytes > description_.queue.max_bytes) {
    if (description_.queue.when_full == WhenFull::drop_newest) return drop(delivery);
    while (description_.queue.when_full == WhenFull::drop_oldest && !queue_.empty() &&
           queued_bytes_ + bytes > description_.queue.max_bytes) {
      Delivery &oldest = queue_.front();
      queued_bytes_ -= bytes_of(oldest);
      oldest.row->counts.queued -= samples_of(oldest);
      oldest.row->counts.queued_bytes -= bytes_of(oldest);
      drop(oldest);
      queue_.pop_front();
    }
  }
  queued_bytes_ += bytes;
  delivery.row->counts.queued += samples;
  delivery.row->counts.queued_bytes += bytes;
  queue_.push_back(std::move(delivery));
}

void SinkWorker::run() {
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  if (spool_) {
    deliver_spool();
  } else {
    deliver_queue();
  }
  const int64_t deadline = stop_deadline_ns_;
  if (const Outcome outcome = instance_->flush(deadline); !outcome.ok()) log(LogLevel::error, name_ + ": flush: " + outcome.text);
  if (const Outcome outcome = instance_->stop(); !outcome.ok()) log(LogLevel::error, name_ + ": stop: " + outcome.text);
  const std::lock_guard lock(ledger_.mutex());
  done_ = true;
  finished_.notify_all();
}

void SinkWorker::deliver_queue() {
  for (;;) {
    Delivery delivery;
    {
      std::unique_lock lock(ledger_.mutex());
      work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty() || (stopping_ && monotonic() >= stop_deadline_ns_)) return;
      delivery = std::move(queue_.front());
      queue_.pop_front();
    }
    WriteResult result = write_with_retries(delivery.batch->raw(), *delivery.row);
    const bool in_time = result.settled;
    if (!in_time) result.reason = "shutdown";
    settle(delivery, result);
    if (in_time) continue;
    lost_ += samples_of(delivery);
    return;
  }
}

// Waits until the sink's send time within `spread`. Older batches are sent immediately.
void SinkWorker::wait_for_send_time(const atalaya_batch &batch) {
  if (offset_ns_ == 0 || batch.count == 0) return;
  const int64_t left = batch.samples[0].time_ns + offset_ns_ - realtime();
  if (left <= 0) return;
  std::unique_lock lock(ledger_.mutex());
  work_.wait_until(lock, at(monotonic() + std::min(left, offset_ns_)), [this] { return stopping_; });
}

SinkWorker::WriteResult SinkWorker::write_with_retries(const atalaya_batch &batch, LedgerRow &row) {
  wait_for_send_time(batch);
  int64_t wait = kFirstRetry;
  for (;;) {
    int64_t retry_after = 0;
    const int64_t begin = monotonic();
    const Outcome outcome = instance_->write(batch, retry_after);
    const int64_t busy = monotonic() - begin;
    if (outcome.ok()) return {.settled = true, .delivered = true, .reason = {}, .busy_ns = busy};
    if (outcome.code != ATALAYA_RETRY) {
      log_limited(LogLevel::error, name_ + ": " + outcome.text + "; the batch is dropped", name_ + " refused");
      return {.settled = true, .delivered = false, .reason = "refused", .busy_ns = busy};
    }
    if (!outcome.unavailable) log_limited(LogLevel::warning, name_ + ": " + outcome.text + "; trying again", name_ + " retry");
    {
      const std::lock_guard lock(ledger_.mutex());
      ++row.counts.errors;
      row.counts.restarts += surroundings_.take_restarts();
      row.counts.busy_ns += busy;
    }
    if (!wait_before_retry(retry_after > 0 ? retry_after : wait)) return {.settled = false};
    wait = outcome.unavailable ? kFirstRetry : std::min(wait * 2, kMaxRetry);  // its supervisor has a back-off
  }
}

bool SinkWorker::wait_before_retry(int64_t wait_ns) {
  std::unique_lock lock(ledger_.mutex());
  const int64_t until = monotonic() + wait_ns;
  work_.wait_until(lock, at(until), [this] { return stopping_; });
  if (!stopping_) return true;
  if (spool_) return false;  // the batch remains in the spool
  // During the stop, waits are shorter than the back-off, but long enough to avoid a busy loop.
  static constexpr int64_t kLastTries = 50'000'000;
  if (monotonic() >= stop_deadline_ns_) return false;
  finished_.wait_until(lock, at(std::min(monotonic() + kLastTries, stop_deadline_ns_)));
  return monotonic() < stop_deadline_ns_;
}

// Divides the samples of a batch into outcomes, by the counts of the sink and the result of the write.
Settlement SinkWorker::settlement_of(const WriteResult &result, uint64_t samples) {
  const Tally tally = surroundings_.take();
  Settlement settlement;
  if (!result.delivered) {
    settlement.dropped.emplace_back(result.reason, samples);
    return settlement;
  }
  for (const auto &[why, count] : tally.reasons) {
    const uint64_t refused =
        std::min(static_cast<uint64_t>(count), samples);  // a sink cannot refuse more samples than the batch has
    settlement.dropped.emplace_back(why, refused);
    samples -= refused;
  }
  settlement.dead_letter = std::min(static_cast<uint64_t>(tally.dead_letter), samples);
  settlement.delivered = samples - settlement.dead_letter;
  return settlement;
}

// Call it with the ledger's mutex locked.
void SinkWorker::count(const Settlement &settlement, const WriteResult &result, uint64_t samples, LedgerRow &row) {
  row.counts.out += static_cast<int64_t>(settlement.delivered);
  row.counts.dead_letter += static_cast<int64_t>(settlement.dead_letter);
  for (const auto &[why, count] : settlement.dropped) count_dropped(row, why, static_cast<int64_t>(count));
  if (!result.delivered) ++row.counts.errors;
  row.counts.restarts += surroundings_.take_restarts();
  row.counts.queued -= static_cast<int64_t>(samples);
  row.counts.busy_ns += result.busy_ns;
}

void SinkWorker::settle(const Delivery &delivery, const WriteResult &result) {
  const auto samples = static_cast<uint64_t>(samples_of(delivery));
  const Settlement settlement = settlement_of(result, samples);
  bool on_queue_space = false;
  {
    const std::lock_guard lock(ledger_.mutex());
    const bool was_full = full();
    count(settlement, result, samples, *delivery.row);
    delivery.row->counts.queued_bytes -= bytes_of(delivery);
    queued_bytes_ -= bytes_of(delivery);
    on_queue_space = was_full && !full();
  }
  if (!result.delivered && delivery.ack) delivery.ack->refuse();
  if (on_queue_space) on_queue_space_();
}

void SinkWorker::begin_stop(int64_t deadline_ns) {
  const std::lock_guard lock(ledger_.mutex());
  stopping_ = true;
  stop_deadline_ns_ = deadline_ns;
  instance_->end_by(deadline_ns);
  work_.notify_all();
}

bool SinkWorker::running() const {
  const std::lock_guard lock(ledger_.mutex());
  return thread_.joinable() && !stopping_;
}

bool SinkWorker::stopped() {
  const std::lock_guard lock(ledger_.mutex());
  return done_;
}

bool SinkWorker::end_stop() {
  if (!thread_.joinable()) return done_;
  std::deque<Delivery> left;
  bool finished = false;
  bool filled = false;
  {
    std::unique_lock lock(ledger_.mutex());
    // Flush and stop of the sink may take 1 s more than the deadline; after that the sink is regarded as hung.
    static constexpr int64_t kGrace = 1'000'000'000;
    finished_.wait_until(lock, at(stop_deadline_ns_ + kGrace), [this] { return done_ && filled_; });
    filled = filled_;
    finished = done_ && filled;
    left.swap(queue_);
    for (Delivery &delivery : left) {
      count_dropped(*delivery.row, "shutdown", samples_of(delivery));
      delivery.row->counts.queued -= samples_of(delivery);
      delivery.row->counts.queued_bytes -= bytes_of(delivery);
      queued_bytes_ -= bytes_of(delivery);
      lost_ += samples_of(delivery);
      if (delivery.ack) delivery.ack->refuse();
    }
  }
  if (lost_ > 0)
    log(LogLevel::warning, name_ + ": " + std::to_string(lost_) + " samples could not be delivered before the stop and are lost" +
                               (spool_ ? "" : "; a spool keeps them"));
  for (std::thread *thread : {&thread_, &filler_}) {
    if (!thread->joinable()) continue;
    if (finished) {
      thread->join();
    } else {
      thread->detach();
    }
  }
  if (!finished) log(LogLevel::error, name_ + ": hangs in a call; it is left behind");
  if (spool_ && filled) spool_->close();  // unlocks the folder for others, also if the call still hangs
  return finished;
}

}  // namespace atalaya::core
