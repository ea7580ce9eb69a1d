// SPDX-License-Identifier: Apache-2.0
// Reads all processes in one call of the program in bpf/proc_pass.bpf.c. It returns the same records as the kernel's iterator at a
// fraction of the cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

struct proc_bpf;
struct proc_pass_bpf;

namespace atalaya::proc {

class BpfPass {
 public:
  // Loads the program with the map of ended threads and the settings of `ends`, which must outlive the result. `capacity` is the
  // maximum size of all records in bytes. Null if the kernel does not support the program.
  static std::unique_ptr<BpfPass> open(const proc_bpf &ends, uint32_t capacity);
  ~BpfPass();

  // Returns complete records of all processes, valid until the next call; nothing when they exceed the capacity or the call fails.
  // `turn` selects the idle processes that are read in full (see bpf/proc_values.bpf.h).
  std::optional<std::span<const std::byte>> read(uint32_t turn);
  // Makes the next call report all processes in full.
  void forget();

 private:
  explicit BpfPass(proc_pass_bpf *skeleton) : skeleton_(skeleton) {}
  bool load(const proc_bpf &ends, uint32_t capacity);

  proc_pass_bpf *skeleton_;
};

}  // namespace atalaya::proc
