// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/cpu_limit.h"

#include <algorithm>

namespace atalaya::core {

void CpuLimit::restart(int64_t now_ns) {
  checked_at_ = now_ns;
  previous_cpu_ns_ = 0;
}

int CpuLimit::ms_until_check(int64_t now_ns) const {
  if (max_percent_ == 0) return -1;
  return static_cast<int>(std::max<int64_t>(checked_at_ + kPeriodNs - now_ns, 0) / 1'000'000 + 1);
}

std::optional<int64_t> CpuLimit::check(int64_t now_ns, int64_t cpu_ns) {
  const int64_t percent = 100 * (cpu_ns - previous_cpu_ns_) / (now_ns - checked_at_);
  checked_at_ = now_ns;
  previous_cpu_ns_ = cpu_ns;
  if (percent <= max_percent_) return std::nullopt;
  return percent;
}

}  // namespace atalaya::core
