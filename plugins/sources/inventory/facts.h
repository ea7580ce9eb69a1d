// SPDX-License-Identifier: Apache-2.0
// What is known of a host at one time: names and values, both texts.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::inventory {

inline constexpr size_t kMaxFacts = 20000;
inline constexpr size_t kMaxName = 512, kMaxValue = 1024;  // bytes

class Facts {
 public:
  // Blanks around the value go, control characters become blanks; an empty value is no fact. A long one is cut, and ends with a
  // mark of the whole so that a change behind the cut is seen.
  void add(std::string_view name, std::string_view value);
  // What begins like this could not be read: what was known of it stands.
  void unread(std::string_view beginning) { unread_.emplace_back(beginning); }

  bool is_unread(std::string_view name) const;
  const std::map<std::string, std::string, std::less<>> &values() const { return values_; }
  bool full() const { return full_; }  // there were more than there is room for

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> unread_;
  bool full_ = false;
};

}  // namespace atalaya::inventory
