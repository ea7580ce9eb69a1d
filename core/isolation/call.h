// SPDX-License-Identifier: Apache-2.0
// The shared memory for the calls of a child process; batches are in a separate one (foreign_batch.h). The host (the agent) makes
// one call at a time, the child's main thread answers it:
//
//   host   writes `call`, then increments `called`
//   child  writes `answer`, then sets `answered` to the number of the call and changes `news`
//   child  emits a batch: writes `answer`, increments `emitted`, changes `news`, waits for `emit_answered`
//
// The host must expect that a faulty child changes any part at any time.
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
  uint32_t announce = 0;  // 1: the child also sends the message Request::answered
  atalaya_window window{};
  ForeignBatch batch;
  uint64_t used = 0;        // bytes of the batches' memory that contain `batch`
  int64_t deadline_ns = 0;  // deadline of a flush
  uint32_t metrics = 0;     // size of the host's catalogue: if it has grown, the child requests missing metrics again
};

// One count of the component (host->count) since the last answer.
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
  ForeignBatch batch;  // the batch of collect, process or emit
  uint64_t base = 0;   // address of the batches' memory in the child
  uint32_t counted = 0;
  std::array<char, 512> text{};
  std::array<Counted, 32> counts{};
};

struct Control {
  alignas(64) std::atomic<uint32_t> called{0};    // futex: number of the last call
  std::atomic<uint32_t> emit_answered{0};         // futex: number of the last emit that the host has answered
  alignas(64) std::atomic<uint32_t> news{0};      // futex: changes when `answered` or `emitted` has changed
  std::atomic<uint32_t> answered{0}, emitted{0};  // numbers of the last answered call and of the last emit
  uint32_t reads_only = 0;                        // the child gets the batches' memory read-only: a sink
  alignas(64) Call call;
  struct EmitAnswer {
    int32_t code = 0;
    uint64_t id = 0;
  } emit_answer;
  alignas(64) Answer answer;
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

// The numbers of a child's file descriptors.
constexpr int kControlFd = 3, kBatchFd = 4, kRequestFd = 5, kNoticeFd = 6;

}  // namespace atalaya::core
