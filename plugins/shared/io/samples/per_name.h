// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace atalaya::io {

// A value per interned name, computed at the first use of the name: patterns are matched once per name, not once per sample.
template <class T>
class PerName {
 public:
  template <class Make>
  const T &get(uint32_t name, Make &&make) {
    if (name >= slots_.size()) slots_.resize(name + 1);
    Slot &slot = slots_[name];
    if (!slot.known) slot = {true, make()};
    return slot.value;
  }

 private:
  struct Slot {
    bool known = false;
    T value{};
  };
  std::vector<Slot> slots_;
};

}  // namespace atalaya::io
