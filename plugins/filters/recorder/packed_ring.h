// SPDX-License-Identifier: Apache-2.0
// The samples of the last windows, packed into blocks of memory of a limited sum. Most fields of most samples are 0 or have few
// digits, so a packed sample is smaller. Names are ids of this process: a ring is never stored.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>

namespace atalaya::recorder {

struct RingEntry {
  int64_t time_ns = 0, duration_ns = 0;  // of its window
  const std::byte *bytes = nullptr;
  uint64_t samples = 0;
  bool is_passed = false;
};

class PackedRing {
 public:
  // A block is freed when its last window has left: a ring that is larger than its windows need takes only their memory.
  explicit PackedRing(size_t max_bytes);

  // A copy of the samples of a window. The oldest windows make room; false: larger than the ring. `dropped`: called for each window
  // that made room.
  template <class Dropped>
  bool push(const Window &window, std::span<const Sample> samples, Dropped &&dropped) {
    if (samples.empty()) return true;
    if (!pack(window, samples)) return false;
    if (!fits_last_block()) {
      while (!entries_.empty() && bytes_ + next_block_size() > max_bytes_) {
        dropped(entries_.front());
        pop();
      }
      add_block();
    }
    append(window, samples.size());
    return true;
  }
  // The oldest windows up to this time, until one that is to stay.
  template <class Stays>
  void drop_until(int64_t time_ns, Stays &&stays) {
    while (!entries_.empty() && entries_.front().time_ns <= time_ns && !stays(entries_.front())) pop();
  }

  std::deque<RingEntry> &entries() { return entries_; }
  // Of all blocks.
  size_t bytes() const { return bytes_; }
  // What it uses beside the ring itself.
  size_t spare_bytes() const { return packed_.capacity(); }
  void append_to(Batch &batch, const RingEntry &entry) const;

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    size_t size = 0, used = 0;
    size_t entries = 0;
  };
  // False, and no memory is kept: larger than the ring.
  bool pack(const Window &window, std::span<const Sample> samples);
  bool fits_last_block() const { return !blocks_.empty() && blocks_.back().used + packed_.size() <= blocks_.back().size; }
  size_t next_block_size() const;
  void add_block();
  void append(const Window &window, uint64_t samples);
  void pop();

  const size_t max_bytes_;
  size_t bytes_ = 0;
  std::string packed_;             // of one window; keeps its memory
  std::deque<Block> blocks_;       // the oldest first
  std::deque<RingEntry> entries_;  // likewise
};

}  // namespace atalaya::recorder
