// SPDX-License-Identifier: Apache-2.0
// Batches: the samples of one collection in one arena. One owner edits a batch (BatchOwner) until it is queued; then it is
// read-only and has shared owners (BatchRef). A pool recycles batches with their arenas.
#pragma once

#include <atalaya/plugin.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/sample/arena.h"

namespace atalaya::core {

// An arena and the ABI's view of its content. `raw().arena` points at this object.
class Batch {
 public:
  Batch() { clear(); }
  // Reserves about this many bytes.
  explicit Batch(size_t expected_bytes) : arena_(expected_bytes) { clear(); }
  // Uses `memory`, which the caller owns and which already contains the samples.
  Batch(std::byte *memory, size_t size, atalaya_sample *samples, uint64_t count);
  Batch(const Batch &) = delete;
  Batch &operator=(const Batch &) = delete;

  atalaya_batch &raw() { return raw_; }
  const atalaya_batch &raw() const { return raw_; }
  Arena &arena() { return arena_; }
  uint64_t count() const { return raw_.count; }
  size_t used_bytes() const { return arena_.used(); }
  size_t held_bytes() const { return arena_.reserved(); }  // memory that the batch occupies

  void clear();
  // Clears the batch for its next use; frees its memory if recent uses needed much less of it.
  void recycle();

  void reserve_samples(uint64_t more);
  // Appends an empty sample. The reference is valid until the next call.
  atalaya_sample &add_sample(uint32_t kind);
  void reserve(atalaya_sample &sample, uint32_t tags, uint32_t fields);
  void add_tag(atalaya_sample &sample, uint32_t key, std::string_view value);  // copies the value
  void add_field(atalaya_sample &sample, const atalaya_field &field);
  atalaya_str copy(std::string_view text);

  // Appends deep copies of the samples of another batch.
  void append(const atalaya_batch &other);

 private:
  void reset_view();  // makes the batch empty

  Arena arena_;
  atalaya_batch raw_{};
  atalaya_sample *own_samples_ = nullptr;  // the sample array that this batch allocated
  uint64_t own_capacity_ = 0;              // capacity of own_samples_, in samples
  unsigned uses_ = 0;
};

class BatchPool;

// A read-only batch. It is returned to its pool when the last owner releases it.
using BatchRef = std::shared_ptr<const Batch>;
using BatchOwner = std::unique_ptr<Batch>;

// Recycles batches. It exists as long as one of its batches. Any thread.
class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  static std::shared_ptr<BatchPool> make() { return std::shared_ptr<BatchPool>(new BatchPool); }

  BatchOwner take();
  void return_batch(BatchOwner batch);
  BatchRef freeze(BatchOwner batch);  // makes the batch read-only

 private:
  BatchPool() = default;
  void free_unneeded();

  static constexpr size_t kMaxIdle = 16;
  std::mutex mutex_;
  std::vector<BatchOwner> idle_;  // the batch that was returned last is used first
  size_t min_idle_ = 0;           // smallest size of idle_ since the last free_unneeded
  unsigned returned_ = 0;         // batches that were returned since the last free_unneeded
};

inline std::string_view view_of(atalaya_str text) {
  return {text.data, text.size};
}
inline std::string text_of(atalaya_str text) {
  return std::string(view_of(text));
}

}  // namespace atalaya::core
