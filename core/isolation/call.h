// SPDX-License-Identifier: Apache-2.0
// The memory, apart from that of the batches, through which a host calls its child: one call at a time, answered by the child's
// main thread. The host writes `call`, the child the rest. To the host, all of it may change at any moment.
#pragma once

#include <atalaya/plugin.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "core/isolation/foreign_batch.h"

namespace atalaya::core {

enum class Op : uint32_t { create = 1, start, stop, destroy, collect, run, process, write, flush };

struct Call {
  Op op = Op::create;
  uint32_t announce = 0;  // 1: the answer is announced by a message, too
  atalaya_window window{};
  ForeignBatch batch;
  uint64_t used = 0;        // bytes of the batches' memory that hold it
  int64_t deadline_ns = 0;  // of flush
  uint32_t metrics = 0;     // size of the host's catalogue: what the child did not find may be in it since
};

// Counts of the component since the last answer.
struct Counted {
  int32_t what = 0;
  uint32_t reason_size = 0;
  uint64_t samples = 0;
  std::array<char, 112> reason{};
};

struct Answer {
  int32_t code = 0;
  uint32_t text_size = 0;
  int64_t retry_after_ns = 0;
  ForeignBatch batch;  // collect, process, and a batch that is emitted
  uint64_t base = 0;   // where the child has the memory of the batches
  uint32_t counted = 0;
  std::array<char, 512> text{};
  std::array<Counted, 32> counts{};
};

struct Control {
  alignas(64) std::atomic<uint32_t> called{0};    // futex: number of the last call
  std::atomic<uint32_t> emit_answered{0};         // futex: number of the last emit that the host has answered
  alignas(64) std::atomic<uint32_t> news{0};      // futex: changes when the host has something to look at
  std::atomic<uint32_t> answered{0}, emitted{0};  // numbers
  uint32_t reads_only = 0;                        // the child gets the batches' memory read-only: a sink
  alignas(64) Call call;
  struct EmitAnswer {
    int32_t code = 0;
    uint64_t id = 0;
  } emit_answer;
  alignas(64) Answer answer;
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

// Descriptors of a child, by number.
constexpr int kControlFd = 3, kBatchFd = 4, kRequestFd = 5, kNoticeFd = 6;

}  // namespace atalaya::core
