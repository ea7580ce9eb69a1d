// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/match/byte_set.h"

namespace atalaya::io {
namespace {

struct NamedClass {
  std::string_view name;
  bool (*holds)(int byte);
};

bool is_digit(int byte) {
  return byte >= '0' && byte <= '9';
}
bool is_lower(int byte) {
  return byte >= 'a' && byte <= 'z';
}
bool is_upper(int byte) {
  return byte >= 'A' && byte <= 'Z';
}
bool is_alpha(int byte) {
  return is_lower(byte) || is_upper(byte);
}
bool is_alnum(int byte) {
  return is_alpha(byte) || is_digit(byte);
}
bool is_space(int byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}
bool is_punct(int byte) {
  return byte > ' ' && byte < 127 && !is_alnum(byte);
}
bool is_xdigit(int byte) {
  return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

// Own definitions of the classes, because those of the C library depend on the locale.
constexpr NamedClass kClasses[] = {{"alpha", is_alpha}, {"digit", is_digit}, {"alnum", is_alnum}, {"lower", is_lower},
                                   {"upper", is_upper}, {"space", is_space}, {"punct", is_punct}, {"xdigit", is_xdigit}};

// Parses a class such as "[:alpha:]"; returns the position after it, or npos if there is none at this position.
size_t add_class(std::string_view pattern, size_t at, ByteSet &set) {
  for (const NamedClass &one : kClasses) {
    const std::string_view rest = pattern.substr(at);
    if (rest.size() < one.name.size() + 4 || rest.substr(0, 2) != "[:" || rest.substr(2, one.name.size()) != one.name ||
        rest.substr(2 + one.name.size(), 2) != ":]")
      continue;
    for (int byte = 0; byte < 256; ++byte)
      if (one.holds(byte)) set.set(static_cast<size_t>(byte));
    return at + one.name.size() + 4;
  }
  return std::string_view::npos;
}

}  // namespace

size_t parse_byte_set(std::string_view pattern, size_t at, ByteSet &set) {
  const auto byte_at = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(pattern[i])); };
  set.reset();
  const bool negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  if (negated) ++at;
  for (const size_t first = at; at < pattern.size();) {
    if (pattern[at] == ']' && at != first) {
      if (negated) set.flip();
      return at + 1;
    }
    if (const size_t behind = add_class(pattern, at, set); behind != std::string_view::npos) {
      at = behind;
      continue;
    }
    const size_t low = byte_at(at);
    const bool range = at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']';
    const size_t high = range ? byte_at(at + 2) : low;
    if (high < low) return std::string_view::npos;
    for (size_t byte = low; byte <= high; ++byte) set.set(byte);
    at += range ? 3 : 1;
  }
  return std::string_view::npos;
}

}  // namespace atalaya::io
