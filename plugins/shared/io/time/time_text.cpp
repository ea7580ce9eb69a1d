// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/time/time_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/text/text.h"
#include "core/base/text/units.h"

namespace atalaya::io {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kLastSecond = std::numeric_limits<int64_t>::max() / kSecond - 1;  // in the year 2262

int64_t whole_seconds(int64_t time_ns) {
  return time_ns / kSecond - (time_ns % kSecond < 0 ? 1 : 0);
}

// Parses numbers with a fixed number of digits, and separators.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::optional<int> digits(size_t count) {
    int value = 0;
    if (rest_.size() < count) return std::nullopt;
    for (size_t i = 0; i < count; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return std::nullopt;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }
  bool one_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_[0]) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  char peek() const { return rest_.empty() ? '\0' : rest_[0]; }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool read_date(Reader &reader, char between, std::tm &date) {
  const std::string separator(1, between);
  const auto year = reader.digits(4);
  if (!year || !reader.one_of(separator)) return false;
  const auto month = reader.digits(2);
  if (!month || !reader.one_of(separator)) return false;
  const auto day = reader.digits(2);
  if (!day || *month < 1 || *month > 12 || *day < 1 || *day > 31) return false;
  date.tm_year = *year - 1900;
  date.tm_mon = *month - 1;
  date.tm_mday = *day;
  return true;
}

// Parses "10:00" or "10:00:00".
bool read_clock(Reader &reader, std::tm &date) {
  const auto hour = reader.digits(2);
  if (!hour || !reader.one_of(":")) return false;
  const auto minute = reader.digits(2);
  if (!minute) return false;
  int second = 0;
  if (reader.one_of(":")) {
    const auto digits = reader.digits(2);
    if (!digits) return false;
    second = *digits;
  }
  if (*hour > 23 || *minute > 59 || second > 60) return false;
  date.tm_hour = *hour;
  date.tm_min = *minute;
  date.tm_sec = second;
  return true;
}

// Parses the fraction of a second; result in ns.
std::optional<int64_t> read_fraction(Reader &reader) {
  if (!reader.one_of(".")) return 0;
  int64_t value = 0;
  int64_t unit = kSecond;
  bool any = false;
  while (const auto digit = reader.digits(1)) {
    any = true;
    unit /= 10;
    value += *digit * unit;
  }
  return any ? std::optional(value) : std::nullopt;
}

// Parses "Z" or "+01:00". A time without a zone is local.
struct Zone {
  bool good = true, local = false;
  int64_t offset_seconds = 0;
};
Zone read_zone(Reader &reader) {
  if (reader.done()) return {true, true, 0};
  if (reader.one_of("Zz")) return {reader.done(), false, 0};
  const int64_t sign = reader.peek() == '-' ? -1 : 1;
  if (!reader.one_of("+-")) return {false, false, 0};
  const auto hours = reader.digits(2);
  reader.one_of(":");
  const auto minutes = reader.digits(2);
  if (!hours || !minutes || !reader.done() || *hours > 23 || *minutes > 59) return {false, false, 0};
  return {true, false, sign * (*hours * 3600 + *minutes * 60)};
}

std::optional<int64_t> seconds_of(std::tm date, const Zone &zone) {
  const int day = date.tm_mday;
  date.tm_isdst = -1;
  const int64_t seconds = zone.local ? std::mktime(&date) : timegm(&date) - zone.offset_seconds;
  if (date.tm_mday != day) return std::nullopt;  // a date that does not exist, such as 30 February
  if (seconds > kLastSecond || seconds < -kLastSecond) return std::nullopt;
  return seconds;
}

std::optional<int64_t> read_rfc3339(std::string_view text) {
  Reader reader(text);
  std::tm date{};
  if (!read_date(reader, '-', date)) return std::nullopt;
  int64_t fraction = 0;
  if (reader.one_of("Tt ")) {
    if (!read_clock(reader, date)) return std::nullopt;
    const auto read = read_fraction(reader);
    if (!read) return std::nullopt;
    fraction = *read;
  }
  const Zone zone = read_zone(reader);
  const auto seconds = zone.good ? seconds_of(date, zone) : std::nullopt;
  return seconds ? std::optional(*seconds * kSecond + fraction) : std::nullopt;
}

std::optional<int64_t> read_opentsdb(std::string_view text) {
  Reader reader(text);
  std::tm date{};
  if (!read_date(reader, '/', date)) return std::nullopt;
  if (reader.one_of("- ") && !read_clock(reader, date)) return std::nullopt;
  if (!reader.done()) return std::nullopt;
  const auto seconds = seconds_of(date, {true, true, 0});
  return seconds ? std::optional(*seconds * kSecond) : std::nullopt;
}

std::optional<int64_t> read_number(std::string_view text) {
  // Seconds up to the year 5138, then milliseconds.
  constexpr double kMaxSeconds = 1e11;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0)) return std::nullopt;
  const bool milliseconds = number >= kMaxSeconds;
  if ((milliseconds ? number / 1000 : number) > static_cast<double>(kLastSecond)) return std::nullopt;
  // Rounds the fraction to whole units, so that 1.001 is exact.
  const double whole = std::floor(number);
  const auto unit = milliseconds ? int64_t{1'000'000} : kSecond;
  return static_cast<int64_t>(whole) * unit + std::llround((number - whole) * static_cast<double>(unit) / 1000) * 1000;
}

std::optional<std::string_view> ago(std::string_view text) {
  constexpr std::string_view kAgo = "-ago";
  if (text.size() > 1 && text[0] == '-') return text.substr(1);
  if (text.size() > kAgo.size() && text.substr(text.size() - kAgo.size()) == kAgo) return text.substr(0, text.size() - kAgo.size());
  return std::nullopt;
}

// The time with the date of `day` and the time of day of `date`; nothing if the clock skips it on that day (start of daylight
// saving time).
std::optional<int64_t> local_second(const std::tm &date, int summer_time) {
  std::tm made = date;
  made.tm_isdst = summer_time;
  const time_t seconds = std::mktime(&made);
  const bool same = made.tm_mday == date.tm_mday && made.tm_hour == date.tm_hour && made.tm_min == date.tm_min;
  return same && seconds >= 0 ? std::optional<int64_t>(seconds) : std::nullopt;
}

// The date `days_before` days before `now`, at noon, because each day has a noon.
std::tm local_day(int64_t now, int days_before) {
  const time_t time = now;
  std::tm date{};
  localtime_r(&time, &date);
  date.tm_mday -= days_before;
  date.tm_hour = 12;
  date.tm_min = date.tm_sec = 0;
  date.tm_isdst = -1;
  std::mktime(&date);
  return date;
}

// The last occurrence of this time of day until now, in seconds. Some times occur twice (end of daylight saving time).
std::optional<int64_t> last_clock(const std::tm &clock, int64_t now) {
  constexpr int kDays = 3;  // enough days, because the clock skips a time of day on at most one of them
  std::optional<int64_t> last;
  for (int before = 0; before < kDays && !last; ++before) {
    std::tm date = local_day(now, before);
    date.tm_hour = clock.tm_hour;
    date.tm_min = clock.tm_min;
    date.tm_sec = clock.tm_sec;
    for (const int summer_time : {0, 1})
      if (const auto second = local_second(date, summer_time); second && *second <= now) last = std::max(last.value_or(0), *second);
  }
  return last;
}

// The first second of a local day: 00:00, or the first quarter of an hour after it that the clock does not skip.
int64_t start_of_day(int64_t now, int days_before) {
  constexpr int kDayInQuarters = 96;
  std::tm date = local_day(now, days_before);
  date.tm_hour = 0;
  for (int quarter = 0; quarter < kDayInQuarters; ++quarter) {
    const auto winter = local_second(date, 0), summer = local_second(date, 1);
    if (winter && summer) return std::min(*winter, *summer);
    if (winter || summer) return winter ? *winter : *summer;
    date.tm_hour = (quarter + 1) / 4;
    date.tm_min = (quarter + 1) % 4 * 15;
  }
  return now;
}

// Parses "05:08" or "05:08:30" as the last such local time.
std::optional<int64_t> read_local_clock(std::string_view text, int64_t now_ns) {
  Reader reader(text);
  std::tm clock{};
  if (!read_clock(reader, clock) || !reader.done() || clock.tm_sec > 59) return std::nullopt;
  const auto second = last_clock(clock, now_ns / kSecond);
  return second ? std::optional(*second * kSecond) : std::nullopt;
}

// The offset of local time from UTC in seconds, positive to the east.
long local_offset(int64_t time_ns) {
  const time_t time = whole_seconds(time_ns);
  std::tm date{};
  localtime_r(&time, &date);
  return date.tm_gmtoff;
}

std::string formatted(int64_t time_ns, const char *format, bool local) {
  const time_t time = whole_seconds(time_ns);
  std::tm date{};
  local ? localtime_r(&time, &date) : gmtime_r(&time, &date);
  std::array<char, 48> text{};
  std::strftime(text.data(), text.size(), format, &date);
  std::string result = text.data();
  if (const int64_t rest = time_ns - int64_t{time} * kSecond; rest != 0) {
    std::snprintf(text.data(), text.size(), ".%09lld", static_cast<long long>(rest));
    result += text.data();
    result.erase(result.find_last_not_of('0') + 1);
  }
  return result;
}

// "+01:00"
std::string offset_text(long offset) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%c%02ld:%02ld", offset < 0 ? '-' : '+', std::labs(offset) / 3600,
                std::labs(offset) / 60 % 60);
  return text.data();
}

std::string zone_of(long offset) {
  return offset == 0 ? "UTC" : "UTC" + offset_text(offset);
}

core::Result<int64_t> read_time(std::string_view text, int64_t now_ns) {
  if (text == "now") return now_ns;
  if (text == "today") return start_of_day(now_ns / kSecond, 0) * kSecond;
  if (text == "yesterday") return start_of_day(now_ns / kSecond, 1) * kSecond;
  if (const auto span = ago(text)) {
    const auto duration = parse_length(*span);
    if (!duration) return core::Error{core::in_quotes(text) + ": " + duration.error()};
    return now_ns - duration.value();
  }
  for (const auto read : {read_number, read_rfc3339, read_opentsdb})
    if (const auto time = read(text)) return *time;
  if (const auto time = read_local_clock(text, now_ns)) return *time;
  // "10m" means 10 minutes ago.
  if (const auto length = parse_length(text); length && length.value() >= 0) return now_ns - length.value();
  return core::Error{core::in_quotes(text) +
                     " is not a time; write now, 10m (ago), today, yesterday, 05:08, 2026-11-21T10:00:00Z, 2026/11/21-10:00:00, "
                     "or Unix seconds or milliseconds"};
}

}  // namespace

core::Result<int64_t> parse_time(std::string_view text, int64_t now_ns) {
  constexpr int64_t kYear2200 = 7'258'118'400 * kSecond;
  auto time = read_time(text, now_ns);
  if (time && (time.value() < 0 || time.value() >= kYear2200))
    return core::Error{core::in_quotes(text) + " is not a time from 1970 to 2199"};
  return time;
}

core::Result<int64_t> parse_length(std::string_view text) {
  constexpr int64_t kDay = 86'400 * kSecond;
  constexpr std::array<std::pair<char, int64_t>, 3> kLong = {{{'w', 7 * kDay}, {'n', 30 * kDay}, {'y', 365 * kDay}}};
  for (const auto &[unit, length] : kLong) {
    if (text.empty() || text.back() != unit) continue;
    uint32_t count = 0;
    int64_t total = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, count);
    if (error != std::errc() || end != text.data() + text.size() - 1) break;
    if (__builtin_mul_overflow(length, int64_t{count}, &total)) return core::Error{core::in_quotes(text) + " is too long"};
    return total;
  }
  return core::parse_duration(text);
}

std::string time_text(int64_t time_ns) {
  return formatted(time_ns, "%Y-%m-%dT%H:%M:%S", false) + "Z";
}

std::string zone_text(int64_t time_ns) {
  return zone_of(local_offset(time_ns));
}

void LocalTimes::add(int64_t time_ns) {
  const long offset = local_offset(time_ns);
  if (!offset_) offset_ = offset;
  one_zone_ = one_zone_ && offset == *offset_;
}

std::string LocalTimes::title(const std::string &name) const {
  return one_zone_ && offset_ ? name + " (" + zone_of(*offset_) + ")" : name;
}

std::string LocalTimes::text(int64_t time_ns) const {
  const std::string text = formatted(time_ns, "%Y-%m-%d %H:%M:%S", true);
  return one_zone_ ? text : text + offset_text(local_offset(time_ns));
}

}  // namespace atalaya::io
