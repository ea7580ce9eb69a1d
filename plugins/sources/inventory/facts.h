// SPDX-License-Identifier: Apache-2.0
// Facts about a host at one time: names and values, both texts.
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
  // Trims blanks around the value and replaces control characters by blanks; an empty value is not a fact. A long value is cut and
  // ends with a hash of the whole, so that a change after the cut is visible.
  void add(std::string_view name, std::string_view value);
  // Facts with this prefix could not be read: their known values stay.
  void unread(std::string_view beginning) { unread_.emplace_back(beginning); }

  bool is_unread(std::string_view name) const;
  const std::map<std::string, std::string, std::less<>> &values() const { return values_; }
  bool full() const { return full_; }  // more facts than the maximum

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> unread_;
  bool full_ = false;
};

}  // namespace atalaya::inventory
