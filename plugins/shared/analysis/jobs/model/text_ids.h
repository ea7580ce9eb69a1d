// SPDX-License-Identifier: Apache-2.0
// Ids of recurring texts.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace atalaya::jobs {

class TextIds {
 public:
  TextIds();
  uint32_t id_of(std::string_view text);  // 0 is ""
  const std::string &text(uint32_t number) const { return texts_[number]; }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

}  // namespace atalaya::jobs
