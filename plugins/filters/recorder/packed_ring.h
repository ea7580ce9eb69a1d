// SPDX-License-Identifier: Apache-2.0
// The samples of the last windows in one block of memory of a fixed size. Names are ids of this process: a ring is never stored.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

namespace atalaya::recorder {

struct RingEntry {
  int64_t time_ns = 0;  // of its window
  size_t offset = 0, size = 0;
  uint64_t samples = 0;
  bool is_passed = false;
};

class PackedRing {
 public:
  // Of this size at most; its pages take memory once they are written.
  explicit PackedRing(size_t bytes);

  // A copy of the samples of a window. The oldest windows make room; false: larger than the ring. `dropped`: called for each window
  // that made room.
  template <class Dropped>
  bool push(const Window &window, std::span<const Sample> samples, Dropped &&dropped) {
    if (samples.empty()) return true;
    const size_t size = size_of(samples);
    if (size > size_) return false;
    const bool wraps = head_ + size > size_;
    const size_t begin = wraps ? 0 : head_;
    const auto is_in_the_way = [&](const RingEntry &entry) {
      return (wraps && entry.offset >= head_) || (entry.offset < begin + size && entry.offset + entry.size > begin);
    };
    while (!entries_.empty() && is_in_the_way(entries_.front())) {
      dropped(entries_.front());
      entries_.pop_front();
    }
    pack(window, samples, begin);
    entries_.push_back({window.time_ns, begin, size, samples.size(), false});
    head_ = begin + size;
    return true;
  }
  // The oldest windows up to this time, until one that is to stay.
  template <class Stays>
  void drop_until(int64_t time_ns, Stays &&stays) {
    while (!entries_.empty() && entries_.front().time_ns <= time_ns && !stays(entries_.front())) entries_.pop_front();
  }

  std::deque<RingEntry> &entries() { return entries_; }
  void append_to(Batch &batch, const RingEntry &entry) const;

 private:
  static size_t size_of(std::span<const Sample> samples);
  void pack(const Window &window, std::span<const Sample> samples, size_t offset);

  const size_t size_;
  const std::unique_ptr<std::byte[]> bytes_;
  size_t head_ = 0;
  std::deque<RingEntry> entries_;  // the oldest first
};

}  // namespace atalaya::recorder
