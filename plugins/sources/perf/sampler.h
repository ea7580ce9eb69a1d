// SPDX-License-Identifier: Apache-2.0
// Who was on a CPU, or waited, and in which stack: what both ways of asking the kernel give.
#pragma once

#include <atalaya/plugin.hpp>

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "plugins/shared/match/matcher.h"
#include "core/base/result.h"

namespace atalaya::perf {

struct ProcessId {
  int32_t pid = 0;
  uint64_t start_ns = 0;                                // since boot
  uint64_t image = 0;                                   // as symbols::image_mark has it; 0: a thread of the kernel, or unknown
  auto operator<=>(const ProcessId &) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 reads a 0 into it
};

// Where the user's part of a stack ends: at the function that its thread began with; at the kernel's limit of frames, or of what
// was copied; or where nobody knows the caller. Frame pointers do not say which.
enum class End : uint8_t { unknown, root, truncated, failed };

struct StackCount {
  ProcessId process;
  std::string_view comm;
  bool off_cpu = false;
  bool has_user = false;                        // it is a process with memory of its own
  bool kernel_lost = false, user_lost = false;  // there was a stack, but no room for it
  End end = End::unknown;
  std::span<const uint64_t> kernel, user;  // leaf first
  uint64_t count = 0;
  uint64_t ns = 0;  // off-CPU: the time waited
};

struct Totals {
  uint64_t samples = 0, lost = 0;
  uint64_t not_copied = 0;  // stacks that were to be copied, and whose frame pointers were followed
  uint64_t cost_ns = 0;     // in the kernel, where it is known
};

struct SamplerOptions {
  int frequency = 101;
  std::string event = "auto";
  bool on_cpu = true, off_cpu = false;
  int64_t min_wait_ns = 1'000'000;
  uint32_t max_stacks = 16384;
  bool dwarf = false;                      // stacks are copied and unwound by the tables of files
  core::MatcherList dwarf_processes;       // of these processes; empty: of all
  size_t dwarf_memory = size_t{32} << 20;  // for the tables
};

class Sampler {
 public:
  using Take = std::function<void(const StackCount &)>;
  using See = std::function<void(const ProcessId &, bool again)>;

  virtual ~Sampler() = default;
  // On a thread of its own: waits until there is something to do, or until the descriptor can be read, and does it. Processes that
  // are new are told while they live, and once more when they are seen again.
  virtual void pump(int stop, const See &see) = 0;
  // Everything since the last call, one process after the other; what the spans point to holds during the call of `take`.
  virtual Totals take(const Take &take) = 0;
  // "cycles", "cpu-clock"
  virtual std::string_view event() const = 0;
};

core::Result<std::unique_ptr<Sampler>> open_bpf_sampler(const SamplerOptions &options);
core::Result<std::unique_ptr<Sampler>> open_ring_sampler(const SamplerOptions &options);

}  // namespace atalaya::perf
