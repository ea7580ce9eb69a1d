// SPDX-License-Identifier: Apache-2.0
// The members of SinkWorker that use the spool.
#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "core/base/log.h"
#include "core/base/now.h"
#include "core/delivery/sink_worker.h"

namespace atalaya::core {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kFullRetry = kSecond / 10;

}  // namespace

Status SinkWorker::open_spool() {
  auto opened = Spool::open(description_.spool);
  if (!opened) return Error{opened.error()};
  spool_ = std::move(*opened);
  spool_->on_inherited([this](std::string_view payload) { declare_flat(payload, symbols_); });
  for (const SpoolCounts &counts : spool_->counts()) restore_row(counts);
  return Done{};
}

// Adds the spool's counters of earlier runs to the ledger, unless a row of this agent contains them already. After a reload that
// row continues, or the queued samples move from the row of the sink that had the spool before.
void SinkWorker::restore_row(const SpoolCounts &counts) {
  LedgerRow &row = row_of(counts.pipeline);
  const std::lock_guard lock(ledger_.mutex());
  LedgerRow *before = ledger_.row_with_spool(spool_->id(), counts.pipeline);
  row.spool = spool_->id();
  if (before == &row) return;
  const auto queued = static_cast<int64_t>(counts.queued());
  row.counts.in += queued;
  row.counts.queued += queued;
  row.counts.spooled += queued;
  if (before != nullptr) {
    before->counts.in -= queued;
    before->counts.queued -= queued;
    before->counts.spooled -= queued;
    before->spool = 0;
    return;
  }
  row.counts.in += static_cast<int64_t>(counts.delivered + counts.dead_letter + counts.dropped_total());
  row.counts.out += static_cast<int64_t>(counts.delivered);
  row.counts.dead_letter += static_cast<int64_t>(counts.dead_letter);
  for (const auto &[reason, samples] : counts.dropped) count_dropped(row, reason, static_cast<int64_t>(samples));
}

LedgerRow &SinkWorker::row_of(const std::string &pipeline) {
  const std::lock_guard lock(rows_mutex_);
  LedgerRow *&row = rows_[pipeline];
  if (row == nullptr) row = &ledger_.row(RowType::sink, pipeline, name_);
  return *row;
}

// ---- Into the spool ------------------------------------------------------------------------------------------------------------

void SinkWorker::fill_spool() {
  pthread_setname_np(pthread_self(), "spool");
  for (bool last = false; !last;) {
    std::deque<Delivery> group;
    {
      std::unique_lock lock(ledger_.mutex());
      work_.wait_until(lock, at(next_due()), [this] { return stopping_ || !queue_.empty(); });
      group.swap(queue_);
      last = stopping_;  // nothing is pushed after the stop request
    }
    for (Delivery &delivery : group) put_in_spool(std::move(delivery));
    maintain_spool();
  }
  acknowledge_stored();
  const std::lock_guard lock(ledger_.mutex());
  filled_ = true;
  work_.notify_all();
  finished_.notify_all();
}

Status SinkWorker::encode(const Delivery &delivery) {
  payload_.clear();
  return encoder_.append(delivery.batch->raw(), symbols_, payload_);
}

void SinkWorker::put_in_spool(Delivery delivery) {
  if (const Status encoded = encode(delivery); !encoded) {
    log_limited(LogLevel::error, name_ + ": spool: " + encoded.error() + "; the batch is dropped", name_ + " encode");
    spool_->count_dropped(delivery.row->pipeline, "refused", delivery.batch->count());
    if (delivery.ack) delivery.ack->refuse();
    return count_removed(delivery, "refused");
  }
  while (!try_put(delivery)) {
    maintain_spool();
    std::unique_lock lock(ledger_.mutex());
    work_.wait_until(lock, at(monotonic() + kFullRetry), [this] { return stopping_; });
    if (!stopping_) continue;
    lock.unlock();
    spool_->count_dropped(delivery.row->pipeline, "shutdown", delivery.batch->count());
    lost_ += static_cast<int64_t>(delivery.batch->count());
    if (delivery.ack) delivery.ack->refuse();
    return count_removed(delivery, "shutdown");
  }
  if (delivery.ack) unsynced_.push_back(std::move(delivery.ack));
  if (dirty_since_ns_ == 0) dirty_since_ns_ = monotonic();
}

// False if the spool does not accept the batch now.
bool SinkWorker::try_put(const Delivery &delivery) {
  SpoolDrops drops;
  const auto samples = static_cast<uint32_t>(delivery.batch->count());
  {
    // Counts before the append: the sender may take the record before this thread continues.
    const std::lock_guard lock(ledger_.mutex());
    delivery.row->spool = spool_->id();
    delivery.row->counts.spooled += samples;
  }
  Spool::Appended appended = spool_->append(delivery.row->pipeline, samples, payload_, drops, encoder_.complete());
  if (appended.put == Spool::Put::partial) {
    encoder_.start_stream();
    static_cast<void>(encode(delivery).ok());  // now with the declarations of all its metrics
    appended = spool_->append(delivery.row->pipeline, samples, payload_, drops);
  }
  const auto &[put, reason] = appended;
  if (put == Spool::Put::dropped) encoder_.start_stream();
  if (put == Spool::Put::dropped) drops.pop_back();  // this batch, which count_removed counts
  if (put == Spool::Put::full || put == Spool::Put::failed) {
    log_limited(LogLevel::warning, name_ + ": spool " + reason + "; waiting", name_ + " spool full");
    const std::lock_guard lock(ledger_.mutex());
    delivery.row->counts.spooled -= samples;
  } else if (put == Spool::Put::stored) {
    count_removed(delivery, {});
  } else {
    if (delivery.ack) delivery.ack->refuse();
    {
      const std::lock_guard lock(ledger_.mutex());
      delivery.row->counts.spooled -= samples;
    }
    count_removed(delivery, reason);
  }
  count(drops);
  return put == Spool::Put::stored || put == Spool::Put::dropped;
}

// Counts a batch that has left the queue: it is in the spool, or dropped for a reason.
void SinkWorker::count_removed(const Delivery &delivery, std::string_view dropped) {
  bool on_queue_space = false;
  {
    const std::lock_guard lock(ledger_.mutex());
    const bool was_full = full();
    Counts &counts = delivery.row->counts;
    counts.queued_bytes -= static_cast<int64_t>(delivery.batch->held_bytes());
    queued_bytes_ -= static_cast<int64_t>(delivery.batch->held_bytes());
    if (dropped.empty()) {
      spooled_ = true;
    } else {
      counts.queued -= static_cast<int64_t>(delivery.batch->count());
      count_dropped(*delivery.row, dropped, static_cast<int64_t>(delivery.batch->count()));
    }
    on_queue_space = was_full && !full();
  }
  work_.notify_all();
  if (on_queue_space) on_queue_space_();
}

// The next time at which the filler has work, even if no batch arrives.
int64_t SinkWorker::next_due() const {
  static constexpr int64_t kIdle = 60 * kSecond;
  const int64_t look = monotonic() + (description_.spool.max_age_ns > 0 ? kSecond : kIdle);
  return dirty_since_ns_ == 0 ? look : std::min(look, dirty_since_ns_ + description_.spool.sync_ns);
}

void SinkWorker::maintain_spool() {
  const int64_t now = monotonic();
  SpoolDrops unrecorded;
  {
    const std::lock_guard lock(ledger_.mutex());
    unrecorded.swap(unrecorded_);
  }
  for (const SpoolDrop &dropped : unrecorded) spool_->count_dropped(dropped.pipeline, dropped.reason, dropped.samples);
  if (now >= next_expiry_ns_) {
    next_expiry_ns_ = now + kSecond;
    SpoolDrops drops;
    spool_->expire(realtime(), drops);
    count(drops);
  }
  if (dirty_since_ns_ == 0 && spool_->dirty()) dirty_since_ns_ = now;
  if (dirty_since_ns_ != 0 && now >= dirty_since_ns_ + description_.spool.sync_ns) acknowledge_stored();
}

// Syncs the appended records, then acknowledges them to their sources.
void SinkWorker::acknowledge_stored() {
  const Status synced = spool_->sync();
  if (!synced) {
    log_limited(LogLevel::error, name_ + ": spool " + synced.error() + "; records appended since may not survive a power failure",
                name_ + " sync");
    for (const auto &ack : unsynced_) ack->refuse();
  }
  unsynced_.clear();
  dirty_since_ns_ = 0;
}

// ---- From the spool to the sink ------------------------------------------------------------------------------------------------

void SinkWorker::deliver_spool() {
  for (;;) {
    SpoolDrops drops;
    const auto entry = spool_->take(drops);
    count(drops);
    if (entry ? !deliver_entry(*entry) : !wait_for_spool()) return;
  }
}

// Waits for a record. False if the worker stops and no record can arrive.
bool SinkWorker::wait_for_spool() {
  std::unique_lock lock(ledger_.mutex());
  const auto ends = [this] { return stopping_ && (filled_ || monotonic() >= stop_deadline_ns_); };
  // Also wakes once per second, because a segment may have been temporarily unreadable.
  work_.wait_until(lock, at(monotonic() + kSecond), [&] { return spooled_ || ends(); });
  return std::exchange(spooled_, false) || !ends();
}

// Delivers a record. False if the stop's deadline is over: the record is then put back.
bool SinkWorker::deliver_entry(const Spool::Entry &entry) {
  LedgerRow &row = row_of(entry.pipeline);
  WriteResult result{.settled = true, .delivered = false, .reason = "spool damaged", .busy_ns = 0};
  decoded_.recycle();
  const auto decoded = decode_flat(entry.payload, symbols_, decoded_);
  if (decoded.ok() && !decoded.value().truncated()) {
    result = write_with_retries(decoded_.raw(), row);
  } else {
    log_limited(LogLevel::error, name_ + ": spool: " + (decoded.ok() ? "a record that is cut off" : decoded.error()),
                name_ + " decode");
    spool_->quarantine_in_flight();
  }
  if (!result.settled) {
    SpoolDrops drops;
    spool_->put_back(drops);
    count(drops);
    return false;
  }
  const Settlement settlement = settlement_of(result, entry.samples);
  if (!spool_->settle(settlement)) return false;
  const std::lock_guard lock(ledger_.mutex());
  count(settlement, result, entry.samples, row);
  row.counts.spooled -= entry.samples;
  return !stopping_ || monotonic() < stop_deadline_ns_;
}

void SinkWorker::count(const SpoolDrops &drops) {
  for (const SpoolDrop &dropped : drops) {
    LedgerRow &row = row_of(dropped.pipeline);
    const auto samples = static_cast<int64_t>(dropped.samples);
    const std::lock_guard lock(ledger_.mutex());
    count_dropped(row, dropped.reason, samples);
    row.counts.queued -= samples;
    row.counts.spooled -= samples;
  }
}

}  // namespace atalaya::core
