// SPDX-License-Identifier: Apache-2.0
// Numbers in the byte order of the host, as in the files of a spool.
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

// Reads a number at the position `at`; `bytes` must contain all of it.
template <class T>
T get(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

}  // namespace atalaya::core
