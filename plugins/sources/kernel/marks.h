// SPDX-License-Identifier: Apache-2.0
// Interface to the hook that runs when the OOM killer chooses a victim.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bpf/oom.h"
#include "core/base/result.h"

namespace atalaya::kernel {

class Marks {
 public:
  virtual ~Marks() = default;
  virtual std::vector<oom_mark> take() = 0;  // victims since the last call
  virtual uint64_t lost() const = 0;         // records lost since the start
};

// Attaches the BPF hook. Returns an error if BPF is unavailable.
core::Result<std::unique_ptr<Marks>> open_marks();

}  // namespace atalaya::kernel
