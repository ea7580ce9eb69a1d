// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/safe_text.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace atalaya::core {
namespace {

struct Range {
  char32_t first, last;
};

// Controls beyond ASCII: C1, zero-width and direction marks, line and paragraph separators, byte order mark.
constexpr Range kHidden[] = {{0x80, 0x9f}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x2069}, {0xfeff, 0xfeff}};
constexpr Range kCombining[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                                {0x64b, 0x65f},   {0x900, 0x902},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
                                {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
                           {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
                           {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

template <size_t N>
bool in(const Range (&ranges)[N], char32_t value) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [=](Range range) { return value >= range.first && value <= range.last; });
}

// Controls, and the two noncharacters at the end of each Unicode plane, which XML forbids.
bool hidden(char32_t value) {
  return value >= 0x80 && ((value & 0xfffe) == 0xfffe || in(kHidden, value));
}

size_t width_of(char32_t value) {
  if (value < 0x300) return 1;
  if (in(kCombining, value)) return 0;
  return in(kWide, value) ? 2 : 1;
}

void append_hex(std::string &out, char32_t value, size_t digits) {
  char text[8];
  const auto end = std::to_chars(text, text + sizeof(text), static_cast<uint32_t>(value), 16).ptr;
  const auto size = static_cast<size_t>(end - text);
  if (size < digits) out.append(digits - size, '0');
  out.append(text, size);
}

bool continues(std::string_view text, size_t size) {
  if (text.size() < size) return false;
  return std::all_of(text.begin() + 1, text.begin() + static_cast<ptrdiff_t>(size),
                     [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; });
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first >= 0xc2 && first <= 0xdf && continues(text, 2)) return {(first & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (first >= 0xe0 && first <= 0xef && continues(text, 3)) {
    const char32_t value = (first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    const bool surrogate = value >= 0xd800 && value <= 0xdfff;
    if (value >= 0x800 && !surrogate) return {value, 3};
  }
  if (first >= 0xf0 && first <= 0xf4 && continues(text, 4)) {
    const char32_t value = (first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
    if (value >= 0x10000 && value <= 0x10ffff) return {value, 4};
  }
  return {};
}

void append_visible(std::string &out, std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    const size_t size = std::max<size_t>(point.size, 1);
    if (point.size == 0) {
      out += kReplacement;
    } else if (point.value < 0x20 || point.value == 0x7f) {
      out += "\\x";
      append_hex(out, point.value, 2);
    } else if (hidden(point.value)) {
      out += "\\u{";
      append_hex(out, point.value, 2);
      out += '}';
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
}

std::string visible(std::string_view text) {
  std::string out;
  append_visible(out, text);
  return out;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    width += width_of(point.value);
    text.remove_prefix(std::max<size_t>(point.size, 1));
  }
  return width;
}

std::string cut_to_width(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  size_t taken = 0;
  size_t columns = 0;
  for (;;) {
    const CodePoint point = first_code_point(text.substr(taken));
    if (columns + width_of(point.value) > width - 1) break;
    columns += width_of(point.value);
    taken += std::max<size_t>(point.size, 1);
  }
  return std::string(text.substr(0, taken)) + "…";
}

}  // namespace atalaya::core
