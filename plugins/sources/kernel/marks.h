// SPDX-License-Identifier: Apache-2.0
// Interface to the hook on the OOM killer's choice of a victim.
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
  virtual std::vector<oom_mark> take() = 0;  // since the last call
  virtual uint64_t lost() const = 0;         // since the start
};

// An error text if BPF is unavailable.
core::Result<std::unique_ptr<Marks>> open_marks();

}  // namespace atalaya::kernel
