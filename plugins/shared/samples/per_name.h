// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace atalaya::core {

// What is known about each interned name, worked out when the name is first met: patterns are matched once a name, not once a
// sample.
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

}  // namespace atalaya::core
