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

// Reports the result of an emitted batch to its push source: calls `acked` when the last owner releases this object.
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

// A batch for a sink. `row` is the ledger row of (pipeline, sink).
struct Delivery {
  BatchRef batch;
  LedgerRow *row = nullptr;
  std::shared_ptr<Acknowledgement> ack;
};

// A sink, its bounded queue and its thread. The ledger's mutex guards the queue. The wait before a retry doubles each time. A
// batch is counted as queued until the sink has accepted it.
//
//   without a spool:  push -> queue -> sender thread -> sink
//   with a spool:     push -> queue -> filler thread -> spool -> sender thread -> sink
//
// The filler acknowledges batches when they are durable in the spool. A sink that hangs does not delay it; batches that are not
// delivered at the end remain in the spool.
class SinkWorker {
 public:
  // The host's name selects the time within `spread` at which the sink sends. `on_queue_space` is called, without a lock, when a
  // full queue accepts batches again.
  SinkWorker(const StageDescription &description, std::string name, Symbols &symbols, Ledger &ledger, std::string_view host,
             std::function<void()> on_queue_space, Launcher *launcher = nullptr);
  SinkWorker(const SinkWorker &) = delete;
  SinkWorker &operator=(const SinkWorker &) = delete;
  ~SinkWorker();

  Status create();  // creates the sink's instance
  Status start();   // starts the spool, the sink and its threads; adds the spool's backlog to the ledger
  const StageDescription &description() const { return description_; }
  const std::string &name() const { return name_; }  // "sink sqlite", unique in the agent

  // Call `full` and `push` with the ledger's mutex locked. `full`: the queue is full and the sink's policy is to block.
  bool full() const;
  // Counts the batch as accepted and queues it. Appends the batches that the policy drops to `dropped`; release them without the
  // lock.
  void push(Delivery delivery, std::vector<Delivery> &dropped);

  // Wakes the threads after pushes; call it without the lock.
  void wake() { work_.notify_all(); }

  bool running() const;  // whether it has started and no stop is requested

  // Requests the stop, without waiting. The thread delivers the queue until the deadline (CLOCK_MONOTONIC), with a spool until the
  // sink first fails; then it flushes and stops the sink.
  void begin_stop(int64_t deadline_ns);
  bool stopped();  // whether the stop is complete
  // Waits for the stop. Undelivered batches remain in the spool; without a spool they are counted as dropped (shutdown). False
  // when the sink hangs in a call; its thread is then detached.
  bool end_stop();

 private:
  // The result of writing a batch.
  struct WriteResult {
    bool settled = true, delivered = false;  // not settled: the stop's deadline was over before the sink accepted the batch
    std::string reason;                      // reason why a settled batch was not delivered
    int64_t busy_ns = 0;
  };

  void run();
  void deliver_queue();
  WriteResult write_with_retries(const atalaya_batch &batch, LedgerRow &row);
  void wait_for_send_time(const atalaya_batch &batch);
  bool wait_before_retry(int64_t wait_ns);
  Settlement settlement_of(const WriteResult &result, uint64_t samples);
  void count(const Settlement &settlement, const WriteResult &result, uint64_t samples, LedgerRow &row);
  void settle(const Delivery &delivery, const WriteResult &result);

  // in sink_spool.cpp
  Status open_spool();
  void restore_row(const SpoolCounts &counts);
  void fill_spool();  // the filler thread
  void put_in_spool(Delivery delivery);
  Status encode(const Delivery &delivery);
  bool try_put(const Delivery &delivery);
  void count_removed(const Delivery &delivery, std::string_view dropped);
  void maintain_spool();  // syncs the spool and drops old records, when these are due
  void acknowledge_stored();
  int64_t next_due() const;
  void deliver_spool();
  bool deliver_entry(const Spool::Entry &entry);
  bool wait_for_spool();
  void count(const SpoolDrops &drops);
  LedgerRow &row_of(const std::string &pipeline);

  StageDescription description_;
  int64_t offset_ns_;  // delay of sending after a window's end
  std::string name_;
  Symbols &symbols_;
  Ledger &ledger_;
  std::function<void()> on_queue_space_;
  Launcher *launcher_;
  CountingSurroundings surroundings_;
  std::unique_ptr<Instance> instance_;

  std::condition_variable work_, finished_;
  std::deque<Delivery> queue_;
  int64_t queued_bytes_ = 0;  // includes the batch in flight
  bool stopping_ = false, done_ = true;
  int64_t stop_deadline_ns_ = 0;
  std::atomic<int64_t> lost_ = 0;  // samples that were not delivered before the stop
  std::thread thread_;

  std::unique_ptr<Spool> spool_;
  std::thread filler_;
  bool spooled_ = false;   // the spool has new records for the sender
  bool filled_ = true;     // the filler has ended
  SpoolDrops unrecorded_;  // dropped from the queue, not yet in the spool's counters
  std::mutex rows_mutex_;
  std::map<std::string, LedgerRow *, std::less<>> rows_;  // ledger rows by pipeline
  // Used only by the filler.
  FlatEncoder encoder_;
  std::string payload_;
  std::vector<std::shared_ptr<Acknowledgement>> unsynced_;
  int64_t dirty_since_ns_ = 0, next_expiry_ns_ = 0;  // dirty_since_ns_ 0: all records are synced
  // Used only by the sender.
  Batch decoded_;
};

}  // namespace atalaya::core
