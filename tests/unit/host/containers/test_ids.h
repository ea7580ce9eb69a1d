// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace atalaya::containers {

// The id that repeats two digits: id("d1") is "d1d1...".
inline std::string id(std::string_view digits) {
  std::string text;
  while (text.size() < 64) text += digits;
  return text;
}

}  // namespace atalaya::containers
