// SPDX-License-Identifier: Apache-2.0
// The parameter `silences`: patterns of alerts that are not reported in a range of time.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "plugins/translators/alerts/journal.h"
#include "plugins/translators/alerts/rules.h"

namespace atalaya::alerts {

inline constexpr Param kSilenceMembers[] = {
    param::string("alert", "Pattern of the names of alerts").defaults("*"),
    param::map("tags", kRulePattern, "Only alerts with these tags").unit("tag"),
    param::string("from", "Start, such as 2026-12-01T20:00:00Z (default: now)").unit("UTC"),
    param::string("until", "End, such as 2026-12-01T22:00:00Z (default: none)").unit("UTC"),
};

class Silences {
 public:
  // Reads the parameter `silences`. Throws Failure.
  explicit Silences(Host host);
  bool silence(std::string_view rule, const Tags &tags, int64_t time_ns) const;
  bool empty() const { return silences_.empty(); }

 private:
  struct Silence {
    io::MatcherList alert;
    std::vector<std::pair<std::string, io::MatcherList>> tags;
    int64_t from_ns = std::numeric_limits<int64_t>::min(), until_ns = std::numeric_limits<int64_t>::max();
  };
  std::vector<Silence> silences_;
};

}  // namespace atalaya::alerts
