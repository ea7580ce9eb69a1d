// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace atalaya::io {

// The CPU use of a stage, once per window. A window has several batches if its sources are ready at different times; a series must
// have one value at a time, so the first batch contains the stage's own metrics. One thread at a time.
class OwnCost {
 public:
  // Adds the CPU time of a batch. Returns, in the first batch of a window, the CPU time since the last result in percent of a
  // core. Returns nothing in other batches, and for windows without a length.
  std::optional<double> add(const Window &window, int64_t cpu_ns) {
    cpu_ns_ += cpu_ns;
    if (window.duration_ns <= 0 || window.time_ns == reported_ns_) return std::nullopt;
    reported_ns_ = window.time_ns;
    return 100 * static_cast<double>(std::exchange(cpu_ns_, 0)) / static_cast<double>(window.duration_ns);
  }

 private:
  int64_t cpu_ns_ = 0, reported_ns_ = 0;
};

}  // namespace atalaya::io
