// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/base/text/safe_text.h"

namespace atalaya::core {
namespace {

bool plain(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value >= 0x20 && value < 0x7f && value != '"' && value != '\\';
}

void append_escaped(std::string &out, char byte) {
  static constexpr char kDigits[] = "0123456789abcdef";
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto value = static_cast<unsigned char>(byte);
  out += "\\u00";
  out += kDigits[value >> 4];
  out += kDigits[value & 15];
}

constexpr size_t kDecimals = 3;
constexpr std::array<int64_t, kDecimals + 1> kTens = {1, 10, 100, 1000};
constexpr double kShort = 1e5;  // the shortest text of larger values may have an exponent

// Fast path for values with few decimals, as sources round them: writes the digits of an integer and a point. False for other
// values.
bool append_short(std::string &out, double value) {
  const double size = std::abs(value);
  if (!(size < kShort) || (size == 0 && std::signbit(value))) return false;
  for (size_t decimals = 0; decimals <= kDecimals; ++decimals) {
    const int64_t ten = kTens.at(decimals);
    const auto digits = static_cast<int64_t>(size * static_cast<double>(ten) + 0.5);
    if (static_cast<double>(digits) / static_cast<double>(ten) != size) continue;
    if (value < 0) out += '-';
    append_integer(out, digits / ten);
    if (decimals == 0) return true;
    out += '.';
    for (int64_t place = ten / 10, rest = digits % ten; place > 0; rest %= place, place /= 10)
      out += static_cast<char>('0' + rest / place);
    return true;
  }
  return false;
}

}  // namespace

void append_json_string(std::string &out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto run = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), plain) - text.begin());
    out.append(text.substr(0, run));
    text.remove_prefix(run);
    if (text.empty()) break;
    const CodePoint point = first_code_point(text);
    if (point.size == 1) {
      append_escaped(out, text[0]);
    } else {
      out += point.size == 0 ? kReplacement : text.substr(0, point.size);
    }
    text.remove_prefix(std::max<size_t>(point.size, 1));
  }
  out += '"';
}

void append_integer(std::string &out, int64_t value) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

void append_number(std::string &out, double value) {
  if (append_short(out, value)) return;
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

void append_real(std::string &out, double value) {
  const size_t begin = out.size();
  append_number(out, value);
  if (out.find_first_of(".e", begin) == std::string::npos) out += ".0";
}

void append_two_decimals(std::string &out, double value) {
  char text[320];  // the largest double has 309 digits before the point
  out.append(text, std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, 2).ptr);
}

}  // namespace atalaya::core
