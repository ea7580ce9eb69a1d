// SPDX-License-Identifier: Apache-2.0
// Tracks the start of each fact and detects changes between two collections, also across
// restarts of the agent.
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
  // Compares with the last facts and returns the facts that ended and the facts that started. A fact with a changed value is in
  // both.
  std::vector<Record> update(const Facts &facts, int64_t now_ns);
  // Returns all current facts.
  std::vector<Record> open() const;
  // Returns the facts that ended in the last update with changes. They are emitted again after a crash.
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
