// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace atalaya::btrace {

// Parses a Unix time in s, ms, us or ns, distinguished by magnitude; seconds may have a fraction. Returns ns; nothing if it is
// invalid.
std::optional<int64_t> parse_epoch(std::string_view text);

// Parses a time by a format of strptime(3), in local time or UTC. A fraction may follow ("...,123" or "....123456").
std::optional<int64_t> parse_time(std::string_view text, const std::string &format, bool utc);

// The prefix "HH:mm:ss:SSS : " of BTrace's messages: its length, 0 for none, and the time nearest to `about_ns` that matches it in
// this host's time zone.
size_t message_time(std::string_view line, int64_t about_ns, int64_t &time_ns);

}  // namespace atalaya::btrace
