// SPDX-License-Identifier: Apache-2.0
// The start of each fact, and its changes between two readings, also across restarts of the agent.
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
  int64_t start_ns = 0, duration_ns = kOpen;  // Unix time; kOpen: still valid
  bool operator==(const Record &) const = default;
};

class FactHistory {
 public:
  // The facts that ended and those that began with this reading. A changed fact ends and begins with it.
  std::vector<Record> update(const Facts &facts, int64_t now_ns);
  // All current facts.
  std::vector<Record> open() const;
  // The facts that ended with the last reading that had changes: after a crash they are emitted again.
  const std::vector<Record> &ended() const { return ended_; }
  size_t size() const { return known_.size(); }

  // Serializes and parses the history. For an invalid text, read returns false and leaves an empty history.
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
