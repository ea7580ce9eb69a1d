// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace atalaya::core {

// An array from another version of the ABI: its elements may be smaller (older plugin) or larger (newer plugin) than T. Members
// that an older element lacks are 0.
template <class T>
class Strided {
 public:
  Strided(const void *data, uint32_t count, uint32_t element_size)
      : data_(static_cast<const unsigned char *>(data)), count_(data == nullptr ? 0 : count), size_(element_size) {}

  uint32_t count() const { return count_; }
  T at(uint32_t index) const {
    T element{};
    std::memcpy(&element, data_ + size_t{index} * size_, std::min<size_t>(size_, sizeof(T)));
    return element;
  }

 private:
  const unsigned char *data_;
  uint32_t count_, size_;
};

}  // namespace atalaya::core
