// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/drawing/colours.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace atalaya::graph {
namespace {

// FNV-1a: equal on all machines, unlike std::hash.
uint64_t hash_of(std::string_view text, uint64_t sum = 0xcbf29ce484222325) {
  for (const char c : text) sum = (sum ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return sum;
}

std::string colour(uint64_t hash) {
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9;
  hash ^= hash >> 32;
  const double hue = static_cast<double>(hash % 360), saturation = 0.55 + 0.2 * static_cast<double>(hash / 360 % 3) / 2;
  const double lightness = 0.36 + 0.12 * static_cast<double>(hash / 1080 % 3) / 2;
  const double chroma = saturation * std::min(lightness, 1 - lightness);
  std::array<int, 3> parts{};
  for (size_t i = 0; i < parts.size(); ++i) {
    constexpr std::array<double, 3> kShift = {0, 8, 4};
    const double k = std::fmod(kShift[i] + hue / 30, 12);
    parts[i] = static_cast<int>(std::lround(255 * (lightness - chroma * std::clamp(std::min(k - 3, 9 - k), -1.0, 1.0))));
  }
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", static_cast<unsigned>(parts[0]) & 0xff,
                static_cast<unsigned>(parts[1]) & 0xff, static_cast<unsigned>(parts[2]) & 0xff);
  return text.data();
}

}  // namespace

std::string colour_of(std::string_view text) {
  return colour(hash_of(text));
}

std::string colour_of(std::string_view a, std::string_view b) {
  const auto [first, second] = std::minmax(a, b);
  return colour(hash_of(second, hash_of(std::string_view("\0", 1), hash_of(first))));
}

}  // namespace atalaya::graph
