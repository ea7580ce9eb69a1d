// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/config/description.h"
#include "core/delivery/counting.h"
#include "core/ledger/ledger.h"
#include "core/plugin/instance.h"

namespace atalaya::core {

// Tells a push source what became of a batch that it emitted: its `acked` is called when the last holder lets go.
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
class SinkWorker {
 public:
  // `made_room` is called, without a lock held, when a queue that was full no longer is.
  SinkWorker(const StageDescription &description, std::string name, Symbols &symbols, Ledger &ledger,
             std::function<void()> made_room);
  SinkWorker(const SinkWorker &) = delete;
  SinkWorker &operator=(const SinkWorker &) = delete;
  ~SinkWorker();

  Status create();  // the instance
  Status start();   // the sink and its thread
  const StageDescription &description() const { return description_; }
  const std::string &name() const { return name_; }  // "sink sqlite", unique in the agent

  // With the ledger's mutex held. `full` concerns sinks whose policy is to block.
  bool full() const;
  // Accepts the batch in the ledger and queues it; what the policy drops for it is moved to `dropped`, to be released after the
  // lock.
  void push(Delivery delivery, std::vector<Delivery> &dropped);

  // Wakes the thread after pushes; without the lock.
  void wake() { work_.notify_one(); }

  bool running() const;  // started, and not told to stop

  // Tells the thread to deliver what is queued until the deadline (CLOCK_MONOTONIC), then to flush and stop the sink. Does not
  // wait.
  void begin_stop(int64_t deadline_ns);
  bool stopped();  // it is through with it
  // Waits for it. What is left then is counted as dropped (shutdown). False when the sink hangs in a call: its thread is left
  // behind.
  bool end_stop();

 private:
  void work();
  // Writes one batch, with retries; false when stopping and out of time.
  bool deliver(const Delivery &delivery);
  void settle(const Delivery &delivery, bool delivered, std::string_view reason, int64_t busy_ns);
  bool wait_before_retry(int64_t wait_ns);

  StageDescription description_;
  std::string name_;
  Symbols &symbols_;
  Ledger &ledger_;
  std::function<void()> made_room_;
  CountingSurroundings surroundings_;
  std::unique_ptr<Instance> instance_;

  std::condition_variable work_, finished_;
  std::deque<Delivery> queue_;
  int64_t queued_bytes_ = 0;  // in flight included
  bool stopping_ = false, done_ = true;
  int64_t stop_deadline_ns_ = 0;
  std::thread thread_;
};

}  // namespace atalaya::core
