// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "tests/unit/temporary_folder.h"

namespace atalaya::testing {

inline std::string content(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "(absent)";
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void put(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace atalaya::testing
