// SPDX-License-Identifier: Apache-2.0
// The journal: a text with the alerts that survive a restart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "plugins/translators/alerts/alarm.h"

namespace atalaya::alerts {

using Tags = std::vector<std::pair<std::string, std::string>>;  // sorted by key

struct Kept {
  enum class What : char { pending = 'P', firing = 'F', closed = 'C', seen = 'S', until = 'U', gap = 'G' };
  What what = What::seen;
  int64_t since_ns = 0;  // until: the end of the last window
  int64_t other_ns = 0;  // firing: Alarm::calm_ns; closed: length of the alert; seen: time of the last sample; gap: its length
  double value = 0;
  bool is_reported = false;  // a span was emitted: the alert was not silenced
  std::string rule;
  Texts texts;
  Tags tags;
};

inline constexpr size_t kMaxKept = 200'000;

std::string journal_text(const std::vector<Kept> &all);
core::Result<std::vector<Kept>> parse_journal(std::string_view text);

}  // namespace atalaya::alerts
