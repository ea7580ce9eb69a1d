// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/opentsdb/opentsdb_name.h"

#include <algorithm>
#include <cstddef>

namespace atalaya::protocols {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

bool plain(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '-' && byte <= '9');  // - . / 0-9
}

// The byte that '_' and two digits at `at` encode; -1 for any other text.
int escaped_byte(std::string_view text, size_t at) {
  if (text.size() - at < 3 || text[at] != '_') return -1;
  const size_t high = kDigits.find(text[at + 1]);
  const size_t low = kDigits.find(text[at + 2]);
  return high == std::string_view::npos || low == std::string_view::npos ? -1 : static_cast<int>(high * 16 + low);
}

}  // namespace

void append_opentsdb_name(std::string &out, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto run =
        static_cast<size_t>(std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), plain) - text.begin());
    out.append(text, at, run - at);
    if (run == text.size()) return;
    const auto byte = static_cast<unsigned char>(text[run]);
    out += '_';
    if (byte != '_' || escaped_byte(text, run) >= 0) {
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
    at = run + 1;
  }
}

std::string from_opentsdb_name(std::string_view name) {
  std::string text;
  for (size_t at = 0; at < name.size();) {
    const int byte = escaped_byte(name, at);
    text += byte < 0 ? name[at] : static_cast<char>(byte);
    at += byte < 0 ? 1 : 3;
  }
  return text;
}

}  // namespace atalaya::protocols
