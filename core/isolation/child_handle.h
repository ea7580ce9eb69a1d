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

// One child process as its host sees it: its memory, its sockets, its calls. Its end is the end of all of them: another child gets
// new ones, so that late writes of the old one reach nobody.
class ChildHandle {
 public:
  static Result<std::shared_ptr<ChildHandle>> spawn(Launcher &launcher, uint64_t capabilities, int64_t memory_bytes,
                                                    bool reads_only);

  enum class Event { answered, emitted, gone, late };
  // One call at a time. `begin` gives its number; `wait` returns when it is answered, a batch is emitted, the child is gone, or
  // the time, or that of `end_by`, is over.
  uint32_t begin(const Call &call);
  Event wait(uint32_t number, int64_t until_ns);
  bool answered(uint32_t number) const { return control().answered.load(std::memory_order_acquire) == number; }
  void end_by(int64_t until_ns);  // any thread

  // Any thread. `why` is for people; the first one counts.
  void kill(const std::string &why);
  void is_gone();  // by whoever saw its end
  bool usable() const { return !gone_ && !killed_; }
  std::string killed_for() const;  // "" if it was not

  // The child's answer, read once.
  Outcome outcome() const;
  ForeignBatch batch() const;
  int64_t retry_after_ns() const;
  void take_counts(Surroundings &surroundings) const;
  void answer_emit(int32_t code, uint64_t id);
  void learn_base();  // after the first answer
  BatchMemory memory() const { return {batches_.data(), batches_.size(), base_}; }
  // Gives back memory that only a burst needed. Between calls.
  void used(size_t bytes);

  const Born &born() const { return born_; }
  int requests() const { return requests_.get(); }
  bool notify(std::string_view message) const;  // any thread; false when the child does not listen
  uint64_t data_bytes() const;                  // private writable memory that it has, 0 if unknown
  int64_t cpu_ns() const;                       // CPU time of all its threads so far, 0 if unknown

  std::atomic<uint64_t> first_emitted{0};  // ids below are those of a child before it

 private:
  ChildHandle() = default;
  Control &control() const { return *reinterpret_cast<Control *>(control_.data()); }
  void wake();

  SharedMemory control_, batches_;
  Descriptor requests_, notices_;
  Born born_;
  uint64_t base_ = 0;
  uint32_t number_ = 0, emits_taken_ = 0;
  size_t peak_ = 0, held_ = 0;
  unsigned uses_ = 0;
  std::atomic<int64_t> end_by_{INT64_MAX};
  std::atomic<bool> gone_{false}, killed_{false};
  mutable std::mutex why_mutex_;
  std::string why_;
};

}  // namespace atalaya::core
