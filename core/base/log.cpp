// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <string>
#include <unordered_map>

namespace atalaya::core {
namespace {

std::atomic<LogLevel> current_level{LogLevel::info};

const char *word(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return "error: ";
    case LogLevel::warning:
      return "warning: ";
    case LogLevel::info:
      return "";
    case LogLevel::debug:
      return "debug: ";
  }
  return "";
}

// syslog priorities: err, warning, info, debug
const char *journal_prefix(LogLevel level) {
  static constexpr const char *prefixes[] = {"", "<3>", "<4>", "<6>", "<7>"};
  return prefixes[static_cast<int>(level)];
}

struct Limited {
  std::chrono::steady_clock::time_point last;
  size_t held_back = 0;
};

}  // namespace

void set_log_level(LogLevel level) {
  current_level = level;
}

std::optional<LogLevel> parse_log_level(std::string_view word) {
  static constexpr std::string_view words[] = {"error", "warning", "info", "debug"};
  const auto *const at = std::find(std::begin(words), std::end(words), word);
  if (at == std::end(words)) return std::nullopt;
  return static_cast<LogLevel>(at - std::begin(words) + 1);
}

void log(LogLevel level, std::string_view text) {
  if (level > current_level.load(std::memory_order_relaxed)) return;
  static const bool journal = std::getenv("JOURNAL_STREAM") != nullptr;
  std::string line = journal ? journal_prefix(level) : "atalaya: ";
  line += word(level);
  // Each event is one line: the text of a plugin or a file cannot forge another line.
  for (const char c : text) line += c == '\n' || c == '\r' ? ' ' : c;
  line += '\n';
  // One write per line, so that lines of several threads do not mix. Errors of a closed standard error are ignored.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void log_limited(LogLevel level, std::string_view text, std::string_view key) {
  static std::mutex mutex;
  static std::unordered_map<std::string, Limited> seen;
  static constexpr size_t kMaxCauses = 1000;
  static constexpr auto kPause = std::chrono::minutes(1);
  std::string line(text);
  {
    const std::lock_guard lock(mutex);
    const auto now = std::chrono::steady_clock::now();
    if (seen.size() > kMaxCauses)
      for (auto old = seen.begin(); old != seen.end();) old = now - old->second.last < kPause ? std::next(old) : seen.erase(old);
    const auto [entry, fresh] = seen.try_emplace(std::string(key.empty() ? text : key), Limited{now, 0});
    if (!fresh && now - entry->second.last < kPause) {
      ++entry->second.held_back;
      return;
    }
    if (entry->second.held_back > 0) line += " (and " + std::to_string(entry->second.held_back) + " times more since)";
    entry->second = Limited{now, 0};
  }
  log(level, line);
}

}  // namespace atalaya::core
