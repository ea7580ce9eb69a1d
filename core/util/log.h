// SPDX-License-Identifier: Apache-2.0
// Lines for the operator on standard error: "<level>: text", with systemd's <N> prefix when the journal reads them. Any thread.
#pragma once

#include <string_view>

namespace atalaya::core {

enum class LogLevel { error = 1, warning = 2, info = 3, debug = 4 };

void set_log_level(LogLevel level);  // default: info
void log(LogLevel level, std::string_view text);

// The same text at most once a minute; the next line says how often it was held back.
void log_limited(LogLevel level, std::string_view text);

}  // namespace atalaya::core
