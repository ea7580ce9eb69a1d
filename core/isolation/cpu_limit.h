// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace atalaya::core {

// Compares the CPU time of a process with a limit (isolation.cpu), once per period.
class CpuLimit {
 public:
  static constexpr int64_t kPeriodNs = 10'000'000'000;

  // `max_percent`: of one core; 0: no limit.
  explicit CpuLimit(int64_t max_percent) : max_percent_(max_percent) {}

  void restart(int64_t now_ns);  // for a new process
  bool due(int64_t now_ns) const { return max_percent_ != 0 && now_ns >= checked_at_ + kPeriodNs; }
  int ms_until_check(int64_t now_ns) const;  // -1 without a limit
  // `cpu_ns`: CPU time of the process since its start. Returns its use in percent of one core since the last check, if that exceeds
  // the limit.
  std::optional<int64_t> check(int64_t now_ns, int64_t cpu_ns);

 private:
  int64_t max_percent_;
  int64_t checked_at_ = 0;
  int64_t previous_cpu_ns_ = 0;
};

}  // namespace atalaya::core
