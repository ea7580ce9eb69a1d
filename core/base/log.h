// SPDX-License-Identifier: Apache-2.0
// Lines for the operator on standard error: "<level>: text", with systemd's <N> prefix when the journal reads them. Any thread.
#pragma once

#include <optional>
#include <string_view>

namespace atalaya::core {

enum class LogLevel { error = 1, warning = 2, info = 3, debug = 4 };

// The least important level that is written; default: info.
void set_log_level(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view word);  // error, warning, info or debug
void log(LogLevel level, std::string_view text);

// One line a minute for the same cause; the next one counts the suppressed lines. `key` names the cause where the text varies
// ("" = the text).
void log_limited(LogLevel level, std::string_view text, std::string_view key = {});

}  // namespace atalaya::core
