// SPDX-License-Identifier: Apache-2.0
// Copies of stacks that the BPF program made: unwound, and counted by stack.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bpf/perf.h"
#include "plugins/shared/code/symbols/process/process_maps.h"
#include "plugins/shared/code/symbols/unwind/unwinder.h"
#include "plugins/sources/perf/process_id.h"
#include "plugins/sources/perf/sampling/sampler.h"

namespace atalaya::perf {

// One thread at a time.
class StackCopies {
 public:
  // `memory`: for the unwind tables and maps of processes, in bytes. `max_stacks`: of a window; the copies of further stacks are
  // lost.
  StackCopies(size_t memory, size_t max_stacks) : memory_(memory), max_stacks_(max_stacks), unwinder_(memory) {}

  // Unwinds a copy and counts it. Throws std::bad_alloc.
  void add(const perf_copy &copy);
  void lose(const perf_copy &copy) { ++windows_[copy.set & 1].lost; }
  // Whether the code of the process keeps frame pointers, as far as it is known.
  bool keeps_frame_pointers(const ProcessId &id) { return unwinder_.keeps_frame_pointers(known_of(id).maps); }

  struct Stack {
    ProcessId process;
    uint64_t kernel = 0;
    uint32_t thread = 0;
    int64_t epoch = 0;
    uint32_t region = 0;
    std::vector<uint64_t> frames;
    End end = End::failed;
    auto operator<=>(const Stack &) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 reads a 0 into it
  };
  struct Sum {
    std::string comm, thread_name;
    uint64_t count = 0;
  };
  struct Window {  // of one set of the BPF program
    std::map<Stack, Sum> stacks;
    uint64_t lost = 0;
  };
  // All copies of this set were added. Maps of processes may change until the next window.
  Window take(uint32_t set);

 private:
  struct Known {
    symbols::ProcessMaps maps;
    int64_t read_ns = 0;
    bool is_of_window = false;  // sampled and read in it
  };

  Known &known_of(const ProcessId &id);
  void forget_known();
  void end_window();
  void refresh(const ProcessId &id, Known &known);

  const size_t memory_, max_stacks_;
  std::array<Window, 2> windows_;
  Stack unwound_;  // the last one
  std::map<ProcessId, Known> known_;
  size_t known_bytes_ = 0;
  symbols::Unwinder unwinder_;
};

}  // namespace atalaya::perf
