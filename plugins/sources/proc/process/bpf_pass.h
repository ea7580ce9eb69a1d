// SPDX-License-Identifier: Apache-2.0
// A pass over all processes in one call of bpf/proc_pass.bpf.c: the records of the iterator, at a fraction of its cost.
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
  // Shares the map of ended threads and the settings of a loaded object, which must outlive this one. `capacity`: maximum bytes of
  // records. Null if the kernel cannot do it.
  static std::unique_ptr<BpfPass> open(const proc_bpf &ends, uint32_t capacity);
  ~BpfPass();

  // All processes, as whole records that stay until the next call; nothing when they are too many or the kernel fails. `turn`: of
  // bpf/proc_values.bpf.h.
  std::optional<std::span<const std::byte>> read(uint32_t turn);
  // The next call reports all processes in full.
  void forget();

 private:
  explicit BpfPass(proc_pass_bpf *skeleton) : skeleton_(skeleton) {}
  bool load(const proc_bpf &ends, uint32_t capacity);

  proc_pass_bpf *skeleton_;
};

}  // namespace atalaya::proc
