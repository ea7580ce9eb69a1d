// SPDX-License-Identifier: Apache-2.0
// The time that the pipeline did not collect: the agent was stopped, the host was suspended, or the clock was set ahead. Nothing is
// known of it, so that no condition lasts, and no series is absent, during it.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace atalaya::alerts {

class Gaps {
 public:
  static constexpr size_t kMax = 256;  // the last ones

  // Adds a window: the time between the last one and its begin was not collected.
  void add(const Window &window);
  // Adds what was known before a restart: the end of the last window, and a gap before it.
  void restore_until(int64_t until_ns) {
    until_ns_ = until_ns;
    is_restored_ = true;
  }
  void restore(int64_t begin_ns, int64_t end_ns) { gaps_.emplace_back(begin_ns, end_ns); }

  // The collected time in (from, to].
  int64_t collected(int64_t from_ns, int64_t to_ns) const;
  // The time since which `length_ns` were collected up to `to_ns`.
  int64_t before(int64_t to_ns, int64_t length_ns) const;
  int64_t until_ns() const { return until_ns_; }  // 0: unknown
  const std::vector<std::pair<int64_t, int64_t>> &all() const { return gaps_; }

 private:
  std::vector<std::pair<int64_t, int64_t>> gaps_;  // begin and end, ascending
  int64_t until_ns_ = 0;
  bool is_restored_ = false;  // and no window came since
};

}  // namespace atalaya::alerts
