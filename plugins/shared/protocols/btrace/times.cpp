// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/btrace/times.h"

#include <ctime>

#include "core/base/text/text.h"
#include "plugins/shared/protocols/btrace/record.h"

namespace atalaya::btrace {
namespace {

constexpr int64_t kSecond = 1'000'000'000, kDay = 86'400 * kSecond;

// ".5" or ",123456" in ns; -1: invalid.
int64_t fraction(std::string_view text) {
  if (text.size() < 2 || text.size() > 19 || (text[0] != '.' && text[0] != ',')) return -1;
  int64_t ns = 0, unit = kSecond;
  for (const char c : text.substr(1)) {
    if (c < '0' || c > '9') return -1;
    unit /= 10;
    ns += (c - '0') * unit;
  }
  return ns;
}

// Nothing on overflow of 64 bits: the year 2262.
std::optional<int64_t> times(int64_t count, int64_t unit) {
  int64_t whole = 0;
  if (__builtin_mul_overflow(count, unit, &whole)) return std::nullopt;
  return whole;
}

std::optional<int64_t> in_ns(int64_t seconds, int64_t ns) {
  auto whole = times(seconds, kSecond);
  if (!whole || __builtin_add_overflow(*whole, ns, &*whole)) return std::nullopt;
  return whole;
}

int64_t digits(std::string_view text, size_t at, size_t count) {
  int64_t number = 0;
  for (size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    number = number * 10 + (text[i] - '0');
  }
  return number;
}

}  // namespace

std::optional<int64_t> parse_epoch(std::string_view text) {
  const size_t point = text.find('.');
  const auto whole = parse_integer(text.substr(0, point));
  if (!whole || *whole <= 0) return std::nullopt;
  if (point != std::string_view::npos) {
    const int64_t ns = fraction(text.substr(point));
    return ns < 0 ? std::nullopt : in_ns(*whole, ns);
  }
  // 1e11 s is the year 5138, 1e11 ms 1973.
  for (const int64_t unit : {kSecond, int64_t{1'000'000}, int64_t{1000}})
    if (*whole < 100'000'000'000 * (kSecond / unit)) return times(*whole, unit);
  return *whole;
}

std::optional<int64_t> parse_time(std::string_view text, const std::string &format, bool utc) {
  const std::string whole(text);
  tm parts{};
  parts.tm_isdst = -1;
  parts.tm_mday = 1;
  const char *end = ::strptime(whole.c_str(), format.c_str(), &parts);
  if (end == nullptr) return std::nullopt;
  const std::string_view rest = core::trimmed(end);
  const int64_t ns = rest.empty() ? 0 : fraction(rest);
  if (ns < 0) return std::nullopt;
  const time_t seconds = utc ? ::timegm(&parts) : ::mktime(&parts);
  return seconds <= 0 ? std::nullopt : in_ns(seconds, ns);
}

size_t message_time(std::string_view line, int64_t about_ns, int64_t &time_ns) {
  constexpr size_t kLength = 15;  // "HH:mm:ss:SSS : "
  if (line.size() < kLength || line[2] != ':' || line[5] != ':' || line[8] != ':' || line.substr(12, 3) != " : ") return 0;
  const int64_t hour = digits(line, 0, 2), minute = digits(line, 3, 2), second = digits(line, 6, 2), ms = digits(line, 9, 3);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60 || ms < 0) return 0;
  const time_t about = about_ns / kSecond;
  tm parts{};
  if (::localtime_r(&about, &parts) == nullptr) return 0;
  parts.tm_hour = static_cast<int>(hour);
  parts.tm_min = static_cast<int>(minute);
  parts.tm_sec = static_cast<int>(second);
  parts.tm_isdst = -1;
  const auto time = in_ns(::mktime(&parts), ms * 1'000'000);
  if (!time) return 0;
  const int64_t days = (about_ns - *time + (about_ns > *time ? kDay / 2 : -kDay / 2)) / kDay;
  time_ns = *time + days * kDay;
  return kLength;
}

}  // namespace atalaya::btrace
