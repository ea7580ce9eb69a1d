// SPDX-License-Identifier: Apache-2.0
// Unwinds the copies of stacks that the BPF program made, and counts equal stacks.
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

// Not thread-safe.
class StackCopies {
 public:
  // `memory`: maximum bytes of unwind tables and memory maps. `max_stacks`: maximum stacks per window; copies of further stacks are
  // lost.
  StackCopies(size_t memory, size_t max_stacks) : memory_(memory), max_stacks_(max_stacks), unwinder_(memory) {}

  // Unwinds a copy and counts it. Throws std::bad_alloc.
  void add(const perf_copy &copy);
  void count_lost(const perf_copy &copy) { ++windows_[copy.set & 1].lost; }
  // Returns true if all known code of the process has frame pointers.
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
  struct Window {  // result of one set of maps of the BPF program
    std::map<Stack, Sum> stacks;
    uint64_t lost = 0;
  };
  // Ends the window of this set; call it after all copies of the set were added. In the next window, maps may be read again.
  Window take(uint32_t set);

 private:
  struct Known {
    symbols::ProcessMaps maps;
    int64_t read_ns = 0;
    bool read_in_window = false;  // sampled in this window, and its maps were read
  };

  Known &known_of(const ProcessId &id);
  void forget_known();
  void end_window();
  void refresh(const ProcessId &id, Known &known);

  const size_t memory_, max_stacks_;
  std::array<Window, 2> windows_;
  Stack unwound_;  // the last unwound stack
  std::map<ProcessId, Known> known_;
  size_t known_bytes_ = 0;
  symbols::Unwinder unwinder_;
};

}  // namespace atalaya::perf
