// SPDX-License-Identifier: Apache-2.0
// A ring of the samples of the last windows, packed into memory blocks with a maximum total size. A packed sample is smaller,
// because most fields are 0 or have few digits. Names are ids that are valid in this process only: a ring is never stored.
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
  int64_t time_ns = 0, duration_ns = 0;  // end and length of the window
  const std::byte *bytes = nullptr;
  uint64_t samples = 0;
  bool is_passed = false;
};

class PackedRing {
 public:
  // `max_bytes`: maximum size of all blocks. A block is allocated when it is needed and freed when its last window is removed.
  explicit PackedRing(size_t max_bytes);

  // Stores a copy of the samples of a window. If the ring is full, it removes the oldest windows and calls `dropped` for each.
  // Returns false if the samples are larger than the ring.
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
  // Removes windows up to this time, the oldest first, and stops at the first one for which `stays` returns true.
  template <class Stays>
  void drop_until(int64_t time_ns, Stays &&stays) {
    while (!entries_.empty() && entries_.front().time_ns <= time_ns && !stays(entries_.front())) pop();
  }

  std::deque<RingEntry> &entries() { return entries_; }
  // Size of all blocks.
  size_t bytes() const { return bytes_; }
  // Size of the buffer for packing, which is not part of bytes().
  size_t spare_bytes() const { return packed_.capacity(); }
  void append_to(Batch &batch, const RingEntry &entry) const;

 private:
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    size_t size = 0, used = 0;
    size_t entries = 0;
  };
  // Packs the samples into packed_. Returns false, and frees packed_, if the result is larger than the ring.
  bool pack(const Window &window, std::span<const Sample> samples);
  bool fits_last_block() const { return !blocks_.empty() && blocks_.back().used + packed_.size() <= blocks_.back().size; }
  size_t next_block_size() const;
  void add_block();
  void append(const Window &window, uint64_t samples);
  void pop();

  const size_t max_bytes_;
  size_t bytes_ = 0;
  std::string packed_;             // the packed samples of one window; reused, so that its memory is allocated once
  std::deque<Block> blocks_;       // in ascending order of time
  std::deque<RingEntry> entries_;  // in ascending order of time
};

}  // namespace atalaya::recorder
