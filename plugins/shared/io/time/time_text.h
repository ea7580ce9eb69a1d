// SPDX-License-Identifier: Apache-2.0
// Times and durations as operators write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace atalaya::io {

// Parses a time to Unix nanoseconds: "now"; "10m", "-10m" or "10m-ago"; "today", "yesterday"; the last local "05:08" or
// "05:08:30"; RFC 3339
// ("2026-11-21T10:00:00Z", "2026-11-21 10:00:00.5+01:00"; local time without a zone), "2026/11/21-10:00:00" (OpenTSDB's, local),
// and Unix seconds or milliseconds, distinguished by magnitude. From 1970 to 2199.
core::Result<int64_t> parse_time(std::string_view text, int64_t now_ns);
// Parses a duration, also OpenTSDB's "1w", "1n" (30 days), "1y" (365 days).
core::Result<int64_t> parse_length(std::string_view text);

// The time in RFC 3339, UTC, with as few decimals as possible: "2026-11-21T10:00:00Z".
std::string time_text(int64_t time_ns);
// The local zone at this time: "UTC" or "UTC+01:00".
std::string zone_text(int64_t time_ns);

// Local times in a table. The table's header has the zone; if the zone changes within the table, each time has its offset instead.
class LocalTimes {
 public:
  // Adds a time of the table; call it for all times before text().
  void add(int64_t time_ns);
  bool one_zone() const { return one_zone_; }
  std::string title(const std::string &name) const;  // "time (UTC+01:00)"
  std::string text(int64_t time_ns) const;           // "2026-11-21 10:00:00", or with "+01:00"

 private:
  std::optional<long> offset_;  // UTC offset of the first time
  bool one_zone_ = true;
};

}  // namespace atalaya::io
