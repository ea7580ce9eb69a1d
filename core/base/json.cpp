// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"

#include <algorithm>
#include <charconv>

#include "core/base/safe_text.h"

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
