// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/isolation/call.h"
#include "core/isolation/launcher/launcher.h"
#include "core/isolation/shared_memory.h"
#include "core/plugin/instance.h"

namespace atalaya::core {

// One child process: its shared memory, its sockets, its calls. A restarted component gets a new child with new memory and
// sockets, so that late writes of the old child have no effect.
class ChildHandle {
 public:
  static Result<std::shared_ptr<ChildHandle>> spawn(Launcher &launcher, uint64_t capabilities, int64_t memory_bytes,
                                                    bool reads_only);

  enum class Event { answered, emitted, ended, timed_out };
  // One call at a time. `begin` starts a call and returns its number. `wait` returns when the call is answered, a batch is
  // emitted, the child has ended, or the deadline of the call or of `end_by` is over.
  uint32_t begin(const Call &call);
  Event wait(uint32_t number, int64_t until_ns);
  bool answered(uint32_t number) const { return control().answered.load(std::memory_order_acquire) == number; }
  void end_by(int64_t until_ns);  // any thread

  // Any thread. `why` is for the log; only the first reason is stored.
  void kill(const std::string &why);
  void set_ended();  // ends waiting calls
  bool usable() const { return !ended_ && !killed_; }
  std::string kill_reason() const;  // "" if it was not killed

  // Copies of the child's answer.
  Outcome outcome() const;
  ForeignBatch batch() const;
  int64_t retry_after_ns() const;
  void take_counts(Surroundings &surroundings) const;
  void answer_emit(int32_t code, uint64_t id);
  void read_base();  // reads the address of the batches' memory in the child; call it after the first answer
  BatchMemory memory() const { return {batches_.data(), batches_.size(), base_}; }
  // Reports the size of a batch. Frees memory that recent batches did not need. Call it between calls.
  void used(size_t bytes);

  const StartedChild &process() const { return process_; }
  int requests() const { return requests_.get(); }
  bool notify(std::string_view message) const;  // any thread; false when the child does not read its messages
  uint64_t data_bytes() const;                  // its private writable memory, 0 if unknown
  int64_t cpu_ns() const;                       // CPU time of all its threads so far, 0 if unknown

  std::atomic<uint64_t> first_emitted{0};  // id of its first batch; lower ids are of earlier children

 private:
  ChildHandle() = default;
  Control &control() const { return *reinterpret_cast<Control *>(control_.data()); }
  void wake();

  SharedMemory control_, batches_;
  Descriptor requests_, notices_;
  StartedChild process_;
  uint64_t base_ = 0;
  uint32_t number_ = 0, handled_emits_ = 0;
  size_t peak_bytes_ = 0, touched_bytes_ = 0;
  unsigned uses_ = 0;
  std::atomic<int64_t> end_by_{INT64_MAX};
  std::atomic<bool> ended_{false}, killed_{false};
  mutable std::mutex why_mutex_;
  std::string why_;
};

}  // namespace atalaya::core
