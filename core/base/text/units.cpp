// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/units.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "core/base/text/text.h"

namespace atalaya::core {
namespace {

struct Unit {
  std::string_view name;
  int64_t factor;
};

constexpr int64_t kSecond = 1'000'000'000;
constexpr std::array kDurations = {Unit{"d", 86400 * kSecond},
                                   Unit{"h", 3600 * kSecond},
                                   Unit{"m", 60 * kSecond},
                                   Unit{"s", kSecond},
                                   Unit{"ms", 1'000'000},
                                   Unit{"us", 1000},
                                   Unit{"ns", 1}};
// Units of query times; accepted as input, never printed.
constexpr std::array kLongDurations = {Unit{"y", kSecond * 86400 * 365}, Unit{"w", kSecond * 86400 * 7}};
constexpr std::string_view kDurationUnits = "ns us ms s m h d w y";

constexpr int64_t kKibi = 1024, kKilo = 1000;
constexpr std::array kBinarySizes = {Unit{"TiB", kKibi *kKibi *kKibi *kKibi}, Unit{"GiB", kKibi *kKibi *kKibi},
                                     Unit{"MiB", kKibi *kKibi}, Unit{"KiB", kKibi}};
constexpr std::array kDecimalSizes = {Unit{"TB", kKilo *kKilo *kKilo *kKilo}, Unit{"GB", kKilo *kKilo *kKilo},
                                      Unit{"MB", kKilo *kKilo}, Unit{"kB", kKilo}, Unit{"B", 1}};
constexpr std::string_view kSizeUnits = "B kB MB GB TB KiB MiB GiB TiB";

const Unit *find_unit(std::span<const Unit> units, std::string_view name) {
  for (const auto &unit : units)
    if (unit.name == name) return &unit;
  return nullptr;
}

// Reads "12", "1.5" or ".5" and removes it from the text.
struct Decimal {
  std::string_view whole, fraction;
};
std::string_view take_digits(std::string_view &text) {
  size_t size = 0;
  while (size < text.size() && is_digit(text[size])) ++size;
  const auto digits = text.substr(0, size);
  text.remove_prefix(size);
  return digits;
}
std::optional<Decimal> take_decimal(std::string_view &text) {
  Decimal number{take_digits(text), {}};
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    number.fraction = take_digits(text);
  }
  if (number.whole.empty() && number.fraction.empty()) return std::nullopt;
  return number;
}

std::string_view take_unit(std::string_view &text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  size_t size = 0;
  while (size < text.size() && !is_digit(text[size]) && text[size] != ' ' && text[size] != '.') ++size;
  const auto unit = text.substr(0, size);
  text.remove_prefix(size);
  return unit;
}

// number * factor, rounded; nothing if the result exceeds int64.
std::optional<int64_t> scaled(const Decimal &number, int64_t factor) {
  int64_t value = 0;
  for (const char digit : number.whole)
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit - '0', &value)) return std::nullopt;
  if (__builtin_mul_overflow(value, factor, &value)) return std::nullopt;
  long double part = 0;
  long double place = static_cast<long double>(factor);
  for (const char digit : number.fraction) part += (place /= 10) * static_cast<long double>(digit - '0');
  if (__builtin_add_overflow(value, std::llround(part), &value)) return std::nullopt;
  return value;
}

Error no_unit(std::string_view text, std::string_view example, std::string_view units) {
  return {in_quotes(text) + " has no unit; write " + in_quotes(std::string(text) + std::string(example)) +
          " (units: " + std::string(units) + ")"};
}
Error unknown_unit(std::string_view text, std::string_view unit, std::string_view units) {
  return {in_quotes(text) + ": unknown unit " + in_quotes(unit) + " (units: " + std::string(units) + ")"};
}

}  // namespace

Result<int64_t> parse_duration(std::string_view text) {
  const Error malformed{in_quotes(text) + " is not a duration; write a number and a unit, such as \"5s\""};
  const Error too_long{in_quotes(text) + " is too long"};
  int64_t total = 0;
  int64_t previous = std::numeric_limits<int64_t>::max();
  std::string_view rest = text;
  do {
    const auto number = take_decimal(rest);
    if (!number) return malformed;
    const auto name = take_unit(rest);
    if (name.empty())
      return previous == std::numeric_limits<int64_t>::max() && rest.empty() ? no_unit(text, "s", kDurationUnits) : malformed;
    const Unit *unit = find_unit(kDurations, name);
    if (unit == nullptr) unit = find_unit(kLongDurations, name);
    if (unit == nullptr) return unknown_unit(text, name, kDurationUnits);
    if (unit->factor >= previous) return Error{in_quotes(text) + ": larger units come first, each once, as in \"1h30m\""};
    previous = unit->factor;
    const auto value = scaled(*number, unit->factor);
    if (!value || __builtin_add_overflow(total, *value, &total)) return too_long;
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  } while (!rest.empty());
  return total;
}

Result<int64_t> parse_size(std::string_view text) {
  const Error malformed{in_quotes(text) + " is not a size; write a number and a unit, such as \"64 MiB\""};
  std::string_view rest = text;
  const auto number = take_decimal(rest);
  if (!number) return malformed;
  const auto name = take_unit(rest);
  if (!rest.empty()) return malformed;
  if (name.empty()) return no_unit(text, " MiB", kSizeUnits);
  const Unit *unit = find_unit(kBinarySizes, name);
  if (unit == nullptr) unit = find_unit(kDecimalSizes, name);
  if (unit == nullptr) return unknown_unit(text, name, kSizeUnits);
  const auto value = scaled(*number, unit->factor);
  if (!value) return Error{in_quotes(text) + " is too large"};
  return *value;
}

std::string format_duration(int64_t ns) {
  if (ns == 0) return "0s";
  std::string text;
  for (const auto &unit : kDurations) {
    const int64_t count = ns / unit.factor;
    if (count != 0) text += std::to_string(count) + std::string(unit.name);
    ns -= count * unit.factor;
  }
  return text;
}

std::string format_size(int64_t bytes) {
  const auto with = [bytes](const Unit &unit) { return std::to_string(bytes / unit.factor) + " " + std::string(unit.name); };
  if (bytes == 0) return "0 B";
  for (const auto &unit : kBinarySizes)
    if (bytes % unit.factor == 0) return with(unit);
  for (const auto &unit : kDecimalSizes)
    if (bytes % unit.factor == 0) return with(unit);
  return with(kDecimalSizes.back());
}

}  // namespace atalaya::core
