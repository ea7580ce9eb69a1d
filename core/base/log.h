// SPDX-License-Identifier: Apache-2.0
// Log lines for the operator on standard error: "<level>: text", with the prefix <N> of systemd when the journal reads them. Any
// thread.
#pragma once

#include <optional>
#include <string_view>

namespace atalaya::core {

enum class LogLevel { error = 1, warning = 2, info = 3, debug = 4 };

// The least important level that is written; default: info.
void set_log_level(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view name);  // error, warning, info or debug
void log(LogLevel level, std::string_view text);

// Writes one line per minute and cause, which `key` identifies (default: the text), and of texts without a key that differ only in
// numbers and quoted parts five per minute; the next line reports the number of suppressed lines.
void log_limited(LogLevel level, std::string_view text, std::string_view key = {});

}  // namespace atalaya::core
