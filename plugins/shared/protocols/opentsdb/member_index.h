// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "plugins/shared/protocols/opentsdb/document.h"

namespace atalaya::protocols {

constexpr size_t kMaxMembers = 1024;  // members per object

// Finds a key among the members of an object: a linear search for few members, a hash table for many, so that the cost per member
// does not depend on their number.
class MemberIndex {
 public:
  void clear() {
    if (used_) slots_.fill(0);
    used_ = false;
  }
  // Returns the member with this key. Null if it is missing: the caller must then add it as the next member.
  Member *find_or_add(std::string_view key, std::vector<Member> &members) {
    if (members.size() < kFew) {
      const auto same = std::find_if(members.begin(), members.end(), [&](const Member &known) { return known.key == key; });
      return same == members.end() ? nullptr : &*same;
    }
    if (!used_) index(members);
    uint16_t &slot = slot_of(key, members);
    if (slot != 0) return &members[slot - 1];
    slot = static_cast<uint16_t>(members.size() + 1);
    return nullptr;
  }

 private:
  static constexpr size_t kFew = 16, kSlots = 4 * kMaxMembers;

  void index(const std::vector<Member> &members) {
    used_ = true;
    for (size_t i = 0; i < members.size(); ++i) slot_of(members[i].key, members) = static_cast<uint16_t>(i + 1);
  }
  uint16_t &slot_of(std::string_view key, const std::vector<Member> &members) {
    size_t at = std::hash<std::string_view>()(key) % kSlots;
    while (slots_[at] != 0 && members[slots_[at] - 1].key != key) at = (at + 1) % kSlots;
    return slots_[at];
  }

  std::array<uint16_t, kSlots> slots_{};  // 1 + index of a member; 0: free
  bool used_ = false;
};

}  // namespace atalaya::protocols
