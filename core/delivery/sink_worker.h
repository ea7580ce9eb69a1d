// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/encode/flat.h"
#include "core/config/description.h"
#include "core/delivery/spool.h"
#include "core/ledger/counting.h"
#include "core/ledger/ledger.h"
#include "core/plugin/instance.h"

namespace atalaya::core {

// Reports the result of an emitted batch to its push source: `acked` is called when the last holder releases it.
class Acknowledgement {
 public:
  Acknowledgement(std::shared_ptr<Instance> source, uint64_t batch_id) : source_(std::move(source)), batch_id_(batch_id) {}
  Acknowledgement(const Acknowledgement &) = delete;
  Acknowledgement &operator=(const Acknowledgement &) = delete;
  ~Acknowledgement() { source_->acked(batch_id_, refused_ ? ATALAYA_PERMANENT : ATALAYA_OK); }
  void refuse() { refused_ = true; }

 private:
  std::shared_ptr<Instance> source_;
  uint64_t batch_id_;
  std::atomic<bool> refused_{false};
};

// A batch on its way to a sink. `row` is that of (pipeline, sink).
struct Delivery {
  BatchRef batch;
  LedgerRow *row = nullptr;
  std::shared_ptr<Acknowledgement> ack;
};

// A sink, its bounded queue and its thread. The ledger's mutex guards the queue. Retries wait with doubling back-off; the batch
// being written stays counted as queued until the sink has it.
//
// With a spool there are two threads: one moves batches from the queue into the spool and acknowledges them once they are durable,
// the other takes them from there to the sink. So a sink that hangs delays neither, and undelivered batches stay at the end.
class SinkWorker {
 public:
  // `host` decides when within `spread` it sends. `made_room` is called, without a lock held, when a queue that was full no longer
  // is.
  SinkWorker(const StageDescription &description, std::string name, Symbols &symbols, Ledger &ledger, std::string_view host,
             std::function<void()> made_room, Launcher *launcher = nullptr);
  SinkWorker(const SinkWorker &) = delete;
  SinkWorker &operator=(const SinkWorker &) = delete;
  ~SinkWorker();

  Status create();  // the instance
  Status start();   // the spool, the sink and its threads; the spool's backlog enters the ledger
  const StageDescription &description() const { return description_; }
  const std::string &name() const { return name_; }  // "sink sqlite", unique in the agent

  // With the ledger's mutex held. `full` concerns sinks whose policy is to block.
  bool full() const;
  // Accepts the batch in the ledger and queues it; batches that the policy drops move to `dropped`, to be released after the
  // lock.
  void push(Delivery delivery, std::vector<Delivery> &dropped);

  // Wakes the threads after pushes; without the lock.
  void wake() { work_.notify_all(); }

  bool running() const;  // started, and not asked to stop

  // Makes the thread deliver the queue until the deadline (CLOCK_MONOTONIC), with a spool until the sink first fails; then
  // to flush and stop the sink. Does not wait.
  void begin_stop(int64_t deadline_ns);
  bool stopped();  // it is through with it
  // Waits for it. The rest stays in the spool; without a spool it is counted as dropped (shutdown). False when the sink hangs
  // in a call: its thread is left behind.
  bool end_stop();

 private:
  // How writing a batch ended: `settled` unless the time ran out; dropped with the reason unless delivered.
  struct Fate {
    bool settled = true, delivered = false;
    std::string reason;
    int64_t busy_ns = 0;
  };

  void work();
  void deliver_queue();
  Fate attempt(const atalaya_batch &batch, LedgerRow &row);  // with retries
  void hold(const atalaya_batch &batch);
  bool wait_before_retry(int64_t wait_ns);
  Settlement settlement_of(const Fate &fate, uint64_t samples);
  void enter(const Settlement &settlement, const Fate &fate, uint64_t samples, LedgerRow &row);
  void settle(const Delivery &delivery, const Fate &fate);

  // sink_spool.cpp
  Status open_spool();
  void restore_row(const SpoolCounts &counts);
  void fill_spool();  // the thread that appends
  void put_in_spool(Delivery delivery);
  Status encode(const Delivery &delivery);
  bool try_put(const Delivery &delivery);
  void left_memory(const Delivery &delivery, std::string_view dropped);
  void keep_spool();  // sync and age, when they are due
  void acknowledge_stored();
  int64_t next_due() const;
  void deliver_spool();
  bool deliver_entry(const Spool::Entry &entry);
  bool wait_for_spool();
  void enter(const SpoolDrops &drops);
  LedgerRow &row_of(const std::string &pipeline);

  StageDescription description_;
  int64_t offset_ns_;  // after a window's end
  std::string name_;
  Symbols &symbols_;
  Ledger &ledger_;
  std::function<void()> made_room_;
  Launcher *launcher_;
  CountingSurroundings surroundings_;
  std::unique_ptr<Instance> instance_;

  std::condition_variable work_, finished_;
  std::deque<Delivery> queue_;
  int64_t queued_bytes_ = 0;  // in flight included
  bool stopping_ = false, done_ = true;
  int64_t stop_deadline_ns_ = 0;
  std::atomic<int64_t> lost_ = 0;  // samples that the stop cut off
  std::thread thread_;

  std::unique_ptr<Spool> spool_;
  std::thread filler_;
  bool spooled_ = false, filled_ = true;  // there is news for the sender; the filler is through
  SpoolDrops unrecorded_;                 // dropped from the queue, not yet in the spool's counters
  std::mutex rows_mutex_;
  std::map<std::string, LedgerRow *, std::less<>> rows_;  // by pipeline
  // Of the filler.
  FlatEncoder encoder_;
  std::string payload_;
  std::vector<std::shared_ptr<Acknowledgement>> unsynced_;
  int64_t dirty_since_ns_ = 0, next_expiry_ns_ = 0;  // dirty: 0 = clean
  // Of the sender.
  Batch decoded_;
};

}  // namespace atalaya::core
