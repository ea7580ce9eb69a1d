// SPDX-License-Identifier: Apache-2.0
// The damaged parts of a store that a reader left out.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace atalaya::store {

class Damage {
 public:
  // Adds a damaged part by the id of a chunk or a window (of samples and stacks), or the start of a span.
  void add(std::string_view table, int64_t id);
  // Returns one sentence for the operator and removes all parts; "" if there are none.
  std::string take(const std::string &path);

 private:
  std::set<std::pair<std::string, int64_t>, std::less<>> parts_;  // each part counts once; maximum kMaximum parts
};

}  // namespace atalaya::store
