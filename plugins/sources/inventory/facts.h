// SPDX-License-Identifier: Apache-2.0
// Facts about a host at one time, as pairs of name and value.
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
  // Adds a fact. The value is trimmed, control characters become blanks, and an empty value is ignored. A value above kMaxValue is
  // truncated and ends with a hash of the complete value, so that a change after the cut is visible.
  void add(std::string_view name, std::string_view value);
  // Marks all facts with this prefix as unreadable: FactHistory keeps their last values.
  void mark_unreadable(std::string_view prefix) { unreadable_.emplace_back(prefix); }

  bool is_unreadable(std::string_view name) const;
  const std::map<std::string, std::string, std::less<>> &values() const { return values_; }
  bool full() const { return full_; }  // the maximum number of facts is exceeded

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> unreadable_;  // prefixes of unreadable facts
  bool full_ = false;
};

}  // namespace atalaya::inventory
