// SPDX-License-Identifier: Apache-2.0
// Since when each fact holds: what changed between two looks, also when the agent was away in between.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/sources/inventory/facts.h"

namespace atalaya::inventory {

inline constexpr int64_t kOpen = -1;

struct Record {
  std::string name, value;
  int64_t start_ns = 0, duration_ns = kOpen;  // Unix time; kOpen: it holds
  bool operator==(const Record &) const = default;
};

class Ledger {
 public:
  // What ended and what began by this look. A fact that changed ends and begins with the look that found it.
  std::vector<Record> look(const Facts &facts, int64_t now_ns);
  // All that hold.
  std::vector<Record> open() const;
  // What ended by the last look that found something: after a crash nobody may have heard of it.
  const std::vector<Record> &ended() const { return ended_; }
  size_t size() const { return known_.size(); }

  // The whole as text, and from it. False, with nothing known, for a text that is not one of these.
  std::string text() const;
  bool read(std::string_view text);

 private:
  struct Known {
    std::string value;
    int64_t start_ns = 0;
  };
  std::map<std::string, Known, std::less<>> known_;
  std::vector<Record> ended_;
};

}  // namespace atalaya::inventory
