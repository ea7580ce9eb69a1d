// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace atalaya::receive {

// Estimates the number of distinct hashes in 1 KiB, within about 3 % (HyperLogLog).
class DistinctCount {
 public:
  void add(uint64_t hash);
  uint64_t estimate() const;
  void clear() { *this = {}; }

 private:
  static constexpr unsigned kBits = 10, kRegisters = 1u << kBits;

  std::array<uint8_t, kRegisters> registers_{};
  unsigned zeros_ = kRegisters;
  double sum_ = kRegisters;  // sum of 2^-value over all registers
};

}  // namespace atalaya::receive
