// SPDX-License-Identifier: Apache-2.0
// The samples of the last windows in one block of memory of a fixed size. Most fields of most samples are 0 or have few digits, so
// a packed sample is smaller. Names are ids of this process: a ring is never stored.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>

namespace atalaya::recorder {

struct RingEntry {
  int64_t time_ns = 0, duration_ns = 0;  // of its window
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
    if (!pack(window, samples)) return false;
    const size_t size = packed_.size();
    const bool wraps = head_ + size > size_;
    const size_t begin = wraps ? 0 : head_;
    const auto is_in_the_way = [&](const RingEntry &entry) {
      return (wraps && entry.offset >= head_) || (entry.offset < begin + size && entry.offset + entry.size > begin);
    };
    while (!entries_.empty() && is_in_the_way(entries_.front())) {
      dropped(entries_.front());
      entries_.pop_front();
    }
    std::memcpy(bytes_.get() + begin, packed_.data(), size);
    entries_.push_back({window.time_ns, window.duration_ns, begin, size, samples.size(), false});
    head_ = begin + size;
    return true;
  }
  // The oldest windows up to this time, until one that is to stay.
  template <class Stays>
  void drop_until(int64_t time_ns, Stays &&stays) {
    while (!entries_.empty() && entries_.front().time_ns <= time_ns && !stays(entries_.front())) entries_.pop_front();
  }

  std::deque<RingEntry> &entries() { return entries_; }
  // What it uses beside the ring itself.
  size_t spare_bytes() const { return packed_.capacity(); }
  void append_to(Batch &batch, const RingEntry &entry) const;

 private:
  // False, and no memory is kept: larger than the ring.
  bool pack(const Window &window, std::span<const Sample> samples);

  const size_t size_;
  const std::unique_ptr<std::byte[]> bytes_;
  std::string packed_;  // of one window; keeps its memory
  size_t head_ = 0;
  std::deque<RingEntry> entries_;  // the oldest first
};

}  // namespace atalaya::recorder
