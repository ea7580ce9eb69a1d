// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "plugins/shared/store/sqlite/chunks/chunk_format.h"

namespace atalaya::store {

// Reads numbers from untrusted bytes; returns zeros after the first error.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  bool is_ok() const { return is_ok_; }
  bool at_end() const { return bytes_.empty(); }
  size_t remaining() const { return bytes_.size(); }
  std::string_view rest() const { return bytes_; }

  uint8_t byte() { return raw<uint8_t>(); }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t part = byte();
      value |= static_cast<uint64_t>(part & 0x7f) << shift;
      if (part < 0x80) return value;
    }
    is_ok_ = false;
    return 0;
  }
  int64_t signed_varint() { return unzigzag(varint()); }
  // Reads a size or count. A number above `maximum` is an error.
  size_t size(uint64_t maximum) {
    const uint64_t value = varint();
    if (value > maximum) is_ok_ = false;
    return is_ok_ ? static_cast<size_t>(value) : 0;
  }
  template <class T>
  T raw() {
    T value{};
    const std::string_view bytes = take(sizeof(T));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  // Returns the next bytes; "" if there are fewer.
  std::string_view take(size_t size) {
    if (bytes_.size() < size) {
      is_ok_ = false;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

 private:
  std::string_view bytes_;
  bool is_ok_ = true;
};

}  // namespace atalaya::store
