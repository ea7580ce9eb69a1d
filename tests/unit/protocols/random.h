// SPDX-License-Identifier: Apache-2.0
// Random choices for generators of documents.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace atalaya::protocols::testing {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}

  uint64_t below(uint64_t limit) { return engine_() % limit; }
  uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  bool one_of(uint64_t chances) { return below(chances) == 0; }
  template <class List>
  const auto &pick(const List &list) {
    return *(std::begin(list) + static_cast<std::ptrdiff_t>(below(std::size(list))));
  }
  // 1 to `maximum` of these characters.
  std::string text(std::string_view characters, size_t maximum) {
    std::string out;
    for (uint64_t i = between(1, maximum); i > 0; --i) out += pick(characters);
    return out;
  }
  // Up to `maximum` blanks, at least `minimum`.
  std::string blanks(uint64_t minimum, uint64_t maximum) { return std::string(between(minimum, maximum), ' '); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace atalaya::protocols::testing
