// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/distinct_count.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace atalaya::receive {
namespace {

// The bits of the hash of a string or a sum are not independent enough.
uint64_t scramble(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

void DistinctCount::add(uint64_t hash) {
  const uint64_t bits = scramble(hash);
  uint8_t &known = registers_[bits >> (64 - kBits)];
  const auto rank = static_cast<uint8_t>(std::min<int>(std::countl_zero(bits << kBits), 64 - static_cast<int>(kBits)) + 1);
  if (rank <= known) return;
  if (known == 0) --zeros_;
  sum_ += std::ldexp(1.0, -rank) - std::ldexp(1.0, -known);
  known = rank;
}

uint64_t DistinctCount::estimate() const {
  constexpr double kSize = kRegisters, kBias = 0.7213 / (1 + 1.079 / kSize);
  const double raw = kBias * kSize * kSize / sum_;
  if (raw <= 2.5 * kSize && zeros_ > 0) return static_cast<uint64_t>(std::llround(kSize * std::log(kSize / zeros_)));
  return static_cast<uint64_t>(std::llround(raw));
}

}  // namespace atalaya::receive
