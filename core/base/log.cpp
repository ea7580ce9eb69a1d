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

using Time = std::chrono::steady_clock::time_point;

struct Limited {
  Time last;
  size_t held_back = 0;
};

// Texts that differ in numbers and quoted parts only: such as those about each malformed line of a file.
struct Similar {
  Time since;
  size_t count = 0, held_back = 0;
};

constexpr auto kPause = std::chrono::minutes(1);
constexpr size_t kMaxCauses = 1000, kMaxSimilar = 5;

template <class Causes, class Of>
void forget_old(Causes &causes, Time now, Of Causes::mapped_type::*time) {
  if (causes.size() <= kMaxCauses) return;
  for (auto old = causes.begin(); old != causes.end();) old = now - old->second.*time < kPause ? std::next(old) : causes.erase(old);
}

std::string without_details(std::string_view text) {
  std::string common;
  bool is_quoted = false;
  for (const char c : text) {
    if (c == '"') is_quoted = !is_quoted;
    if (!is_quoted && (c < '0' || c > '9')) common += c;
  }
  return common;
}

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
  static std::unordered_map<std::string, Similar> similar;
  std::string line(text);
  {
    const std::lock_guard lock(mutex);
    const auto now = std::chrono::steady_clock::now();
    forget_old(seen, now, &Limited::last);
    forget_old(similar, now, &Similar::since);
    const std::string cause(key.empty() ? text : key);
    const auto known = seen.find(cause);
    if (known != seen.end() && now - known->second.last < kPause) {
      ++known->second.held_back;
      return;
    }
    if (key.empty()) {
      Similar &group = similar.try_emplace(without_details(text), Similar{now}).first->second;
      if (group.count >= kMaxSimilar && now - group.since < kPause) {
        ++group.held_back;
        return;
      }
      if (group.held_back > 0) line += " (and " + std::to_string(group.held_back) + " similar messages since)";
      if (now - group.since >= kPause) group = Similar{now};
      ++group.count;
    }
    Limited &entry = known != seen.end() ? known->second : seen[cause];
    if (entry.held_back > 0) line += " (and " + std::to_string(entry.held_back) + " times more since)";
    entry = Limited{now, 0};
  }
  log(level, line);
}

}  // namespace atalaya::core
