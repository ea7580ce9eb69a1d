// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/inventory/facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "core/base/text/text.h"

namespace atalaya::inventory {
namespace {

// FNV-1a: distinguishes texts, is no cryptographic hash.
std::string mark_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16).ptr;
  return " ... (" + std::to_string(text.size()) + " bytes, " + std::string(digits.data(), end) + ")";
}

std::string shortened(std::string_view text, size_t size) {
  if (text.size() <= size) return std::string(text);
  const std::string mark = mark_of(text);
  size_t kept = size - mark.size();
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xc0) == 0x80) --kept;  // whole characters of UTF-8
  return std::string(text.substr(0, kept)) + mark;
}

std::string plain(std::string_view text, size_t size) {
  std::string result = shortened(core::trimmed(text), size);
  std::replace_if(result.begin(), result.end(), core::is_blank, ' ');
  return result;
}

}  // namespace

void Facts::add(std::string_view name, std::string_view value) {
  if (core::trimmed(name).empty() || core::trimmed(value).empty()) return;
  if (values_.size() >= kMaxFacts) {
    full_ = true;
    return;
  }
  values_.emplace(plain(name, kMaxName), plain(value, kMaxValue));
}

bool Facts::is_unreadable(std::string_view name) const {
  return std::any_of(unreadable_.begin(), unreadable_.end(), [&](const std::string &prefix) { return name.starts_with(prefix); });
}

}  // namespace atalaya::inventory
