// SPDX-License-Identifier: Apache-2.0
// The identity of a series as bytes, and a table that assigns each a small number. For stages that group samples or keep state of
// an entity from window to window.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::io {

// A hash of any bytes. With a random seed, an attacker cannot construct collisions.
uint64_t identity_hash(std::string_view key, uint64_t seed);
uint64_t random_seed();

// Builds the bytes of an identity, independent of the order of tags. A reused object allocates nothing in steady state.
class IdentityKey {
 public:
  // The identity by kind, all tags and text.
  std::string_view identity_of(const atalaya_sample &sample);

  // Or in parts: begin(), then number(), text() and tag(), then finish(), which appends the tags in sorted order.
  void begin() {
    bytes_.clear();
    tags_.clear();
  }
  void number(int64_t value);
  void text(std::string_view value);
  void tag(const atalaya_tag &tag) { tags_.push_back(tag); }
  std::string_view finish();

 private:
  std::string bytes_;
  std::vector<atalaya_tag> tags_;
};

// Assigns each identity a number from 0, in the order of first appearance. Compares the bytes, not only their hash, which has a
// random seed against constructed collisions.
class IdentityTable {
 public:
  explicit IdentityTable(size_t max_entries = SIZE_MAX);

  struct Found {
    uint32_t index;
    bool added;
  };
  // Finds or adds an identity and marks it as seen in this window. Nothing if the table is full.
  std::optional<Found> find_or_add(std::string_view key);
  // Finds an identity and marks it as seen in this window. Nothing if it is missing.
  std::optional<uint32_t> find(std::string_view key);
  std::string_view key(uint32_t index) const {
    return std::string_view(bytes_).substr(entries_[index].offset, entries_[index].size);
  }
  size_t size() const { return entries_.size(); }

  // Removes all entries; retains the memory.
  void clear();

  // Ends a window. Every kKeepWindows windows, removes the entries that were not seen since, and calls moved(from, to) for each
  // other entry, in ascending order with to <= from, so that the caller can move its data by number.
  template <class Moved>
  void next_window(Moved &&moved) {
    if (++window_ % kKeepWindows != 0) return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].seen + kKeepWindows < window_) continue;
      move_entry(i, kept);
      moved(i, kept++);
    }
    shrink_to(kept);
  }

 private:
  static constexpr uint64_t kKeepWindows = 64;
  struct Entry {
    uint64_t hash, seen;
    size_t offset, size;
  };
  size_t slot_of(std::string_view key, uint64_t hash) const;
  void move_entry(uint32_t from, uint32_t to);
  void shrink_to(uint32_t count);
  void index_all(size_t slots);

  size_t max_entries_;
  uint64_t seed_, window_ = 0;
  std::vector<Entry> entries_;
  std::string bytes_;            // the keys, concatenated in the order of the entries
  std::vector<uint32_t> slots_;  // open addressing; entry + 1, 0 = free; a power of two, at most half full
};

}  // namespace atalaya::io
