// SPDX-License-Identifier: Apache-2.0
// Batches: the samples of one collection in one arena. A batch is private to its pipeline until it is queued; then it is frozen and
// shared by count (BatchRef). Batches come from a pool and go back to it, arena and all.
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
  // With room for about this many bytes; keeps no more than that.
  explicit Batch(size_t expected_bytes) : arena_(expected_bytes) { clear(); }
  // In that memory of somebody else's, with samples that lie there already.
  Batch(std::byte *memory, size_t size, atalaya_sample *samples, uint64_t count);
  Batch(const Batch &) = delete;
  Batch &operator=(const Batch &) = delete;

  atalaya_batch &raw() { return raw_; }
  const atalaya_batch &raw() const { return raw_; }
  Arena &arena() { return arena_; }
  uint64_t count() const { return raw_.count; }
  size_t used_bytes() const { return arena_.used(); }
  size_t held_bytes() const { return arena_.reserved(); }  // the cost of keeping it

  void clear();
  // Keeps the memory of a usual batch and returns that of an unusual one.
  void recycle();

  void reserve_samples(uint64_t more);
  // The new sample is empty; the reference holds until the next add.
  atalaya_sample &add_sample(uint32_t kind);
  void reserve(atalaya_sample &sample, uint32_t tags, uint32_t fields);
  void add_tag(atalaya_sample &sample, uint32_t key, std::string_view value);  // copies the value
  void add_field(atalaya_sample &sample, const atalaya_field &field);
  atalaya_str copy(std::string_view text);

  // Appends deep copies of the samples of another batch.
  void append(const atalaya_batch &other);

 private:
  void describe();  // an empty batch

  Arena arena_;
  atalaya_batch raw_{};
  atalaya_sample *room_begin_ = nullptr;  // the samples array that this batch made, and how many it holds
  uint64_t room_ = 0;
  unsigned uses_ = 0;
};

class BatchPool;

// Goes back to its pool when the last holder lets go.
using BatchRef = std::shared_ptr<const Batch>;
using BatchOwner = std::unique_ptr<Batch>;

// Any thread. Lives as long as any batch of it.
class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  static std::shared_ptr<BatchPool> make() { return std::shared_ptr<BatchPool>(new BatchPool); }

  BatchOwner take();
  void give_back(BatchOwner batch);
  BatchRef freeze(BatchOwner batch);

 private:
  BatchPool() = default;
  void drop_unneeded();

  static constexpr size_t kMaxIdle = 16;
  std::mutex mutex_;
  std::vector<BatchOwner> idle_;  // the last ones given back are taken first
  size_t least_idle_ = 0;         // since batches were last dropped
  unsigned given_ = 0;
};

inline std::string_view view_of(atalaya_str text) {
  return {text.data, text.size};
}
inline std::string text_of(atalaya_str text) {
  return std::string(view_of(text));
}

}  // namespace atalaya::core
