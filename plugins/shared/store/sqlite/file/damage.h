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
  // The id of a chunk, a window (of samples and stacks) or the start of a span.
  void add(std::string_view table, int64_t id);
  // One sentence for the operator, then forgets all; "" if there is nothing.
  std::string take(const std::string &path);

 private:
  std::set<std::pair<std::string, int64_t>, std::less<>> parts_;  // each counts once, at most kMaximum of them
};

}  // namespace atalaya::store
