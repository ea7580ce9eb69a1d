// SPDX-License-Identifier: Apache-2.0
// Points in time as operators write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace atalaya::query {

// Unix nanoseconds. "now", "-1h" or "1h-ago", RFC 3339 ("2026-11-21T10:00:00Z", "2026-11-21 10:00:00.5+01:00"; local time without a
// zone), "2026/11/21-10:00:00" (OpenTSDB's, local), and Unix seconds or milliseconds, distinguished by their size.
// From 1970 to 2199.
core::Result<int64_t> parse_time(std::string_view text, int64_t now_ns);
// A duration, or OpenTSDB's "1w", "1n" (30 days), "1y" (365 days).
core::Result<int64_t> parse_length(std::string_view text);

// RFC 3339 in UTC, with as many decimals as needed: "2026-11-21T10:00:00Z".
std::string time_text(int64_t time_ns);

}  // namespace atalaya::query
