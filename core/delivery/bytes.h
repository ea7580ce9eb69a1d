// SPDX-License-Identifier: Apache-2.0
// Numbers in the byte order of the host, as the files of a spool hold them.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace atalaya::core {

template <class T>
void put(std::string &out, T value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

// `bytes` holds at least sizeof(T) bytes from `at` on.
template <class T>
T get(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

}  // namespace atalaya::core
