// SPDX-License-Identifier: Apache-2.0
// Hash and equality of net_use_key, for hash tables.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <string_view>

#include "bpf/net.h"

namespace atalaya::net {

struct SameUse {
  bool operator()(const net_use_key &a, const net_use_key &b) const { return std::memcmp(&a, &b, sizeof(a)) == 0; }
};

struct UseHash {
  size_t operator()(const net_use_key &key) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char *>(&key), sizeof(key)});
  }
};
static_assert(sizeof(net_use_key) == 32, "keys are compared by their bytes");

}  // namespace atalaya::net
