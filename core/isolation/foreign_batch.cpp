// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/foreign_batch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace atalaya::core {
namespace {

constexpr uint32_t kMaxArray = 0xffff;  // tags or fields of a sample
constexpr size_t kRecent = 16;

// Copies a value once; the copy is checked and used, even if the original changes.
void read_once(void *to, const std::byte *from, size_t size) {
  std::memcpy(to, from, size);
  asm volatile("" ::: "memory");
}

// Tags of the same text, one after the other in each sample, are copied once.
class Recent {
 public:
  // The copy, if this was the last text in its place.
  const char *find(size_t slot, const char *data, uint64_t size) const {
    const Entry &entry = entries_[slot % kRecent];
    return entry.data == data && entry.size == size ? entry.copy : nullptr;
  }
  void keep(size_t slot, const char *data, uint64_t size, const char *copy) { entries_[slot % kRecent] = {data, size, copy}; }

 private:
  struct Entry {
    const char *data;
    uint64_t size;
    const char *copy;
  };
  std::array<Entry, kRecent> entries_{};
};

// Allocates small parts from larger blocks of an arena, because a sample needs many of them.
class Pieces {
 public:
  explicit Pieces(Arena &arena) : arena_(arena) {}
  std::byte *take(size_t size) {
    size = (size + 7) & ~size_t{7};
    if (size > left_) {
      left_ = std::max(size, kSlab);
      at_ = static_cast<std::byte *>(arena_.allocate(left_, 8));
    }
    left_ -= size;
    return std::exchange(at_, at_ + size);
  }
  size_t left() const { return left_; }

 private:
  static constexpr size_t kSlab = 8192;
  Arena &arena_;
  std::byte *at_ = nullptr;
  size_t left_ = 0;
};

class Taker {
 public:
  Taker(const BatchMemory &memory, uint32_t names, Batch &to)
      : memory_(memory), left_(memory.size), names_(names), to_(to), pieces_(to.arena()) {}

  // The error; null if none. Each sample gets arrays of its own: later stages edit them in place, and where the other
  // process's arrays overlap, one edit would change checked data of another.
  const char *sample(const std::byte *from) {
    atalaya_sample copy;
    read_once(&copy, from, sizeof(copy));
    if (copy.kind > ATALAYA_SPAN) return "it is of an unknown kind";
    if (copy.tag_count > kMaxArray || copy.field_count > kMaxArray) return "it has more than 65535 tags or fields";
    const std::byte *tags = inside(copy.tags, copy.tag_count, sizeof(atalaya_tag), alignof(atalaya_tag));
    if (tags == nullptr && copy.tag_count > 0) return "its tags lie outside the batch's memory";
    const std::byte *fields = inside(copy.fields, copy.field_count, sizeof(atalaya_field), alignof(atalaya_field));
    if (fields == nullptr && copy.field_count > 0) return "its fields lie outside the batch's memory";
    // Capacity for one more tag: the engine adds the tag `host` to most samples.
    const size_t room = size_t{copy.tag_count} + 1;
    std::byte *arrays = pieces_.take(room * sizeof(atalaya_tag) + copy.field_count * sizeof(atalaya_field));
    copy.tags = reinterpret_cast<atalaya_tag *>(arrays);
    copy.fields = reinterpret_cast<atalaya_field *>(arrays + room * sizeof(atalaya_tag));
    for (uint32_t i = 0; i < copy.tag_count; ++i) {
      // Member by member: whole structs would be put together from parts on the stack, which costs more than all the rest.
      const auto *tag = reinterpret_cast<const volatile atalaya_tag *>(tags) + i;
      const uint32_t key = tag->key;
      const char *data = tag->value.data;
      const uint64_t size = tag->value.size;
      if (key > names_) return "a tag has an unknown name";
      copy.tags[i].key = key;
      copy.tags[i].reserved = 0;
      if (!text(i, data, size, copy.tags[i].value)) return "the text of a tag is outside the batch's memory";
    }
    if (!take_fields(fields, copy.field_count, copy.fields)) return "a field has an unknown name or type";
    if (!text(kRecent - 1, copy.text.data, copy.text.size, copy.text)) return "its text is outside the batch's memory";
    copy.capacity = copy.tag_count < kMaxArray ? (copy.tag_count + 1) | copy.field_count << 16 : 0;
    to_.raw().samples[to_.raw().count++] = copy;
    return nullptr;
  }

  // Where so many elements lie that the other process has at this address; null unless they are inside and aligned. They may
  // overlap with others, but all together are no more than there is memory: else a small batch could say that it is a huge one.
  const std::byte *inside(const void *address, uint64_t count, uint64_t size, uint64_t alignment) {
    const uint64_t offset = reinterpret_cast<uint64_t>(address) - memory_.base;
    const uint64_t bytes = count * size;  // count is no more than the memory's size, or 32 bits
    if (offset > memory_.size || bytes > memory_.size - offset || bytes > left_ || (offset & (alignment - 1)) != 0) return nullptr;
    left_ -= bytes;
    return memory_.data + offset;
  }

 private:
  // A field at a time, without a branch: there are many. Its words are name, type, and the value, which may be anything.
  bool take_fields(const std::byte *from, uint32_t count, atalaya_field *to) const {
    using Words = uint32_t __attribute__((vector_size(16)));
    static_assert(sizeof(atalaya_field) == sizeof(Words) && offsetof(atalaya_field, name) == 0 &&
                  offsetof(atalaya_field, type) == 4);
    const Words highest = {names_, ATALAYA_I64, UINT32_MAX, UINT32_MAX};
    Words wrong = {};
    for (uint32_t i = 0; i < count; ++i) {
      Words field;  // by copies, as fields are aligned to 8 only
      read_once(&field, from + i * sizeof(field), sizeof(field));
      std::memcpy(static_cast<void *>(to + i), &field, sizeof(field));
      wrong |= static_cast<Words>(field > highest);
    }
    return (wrong[0] | wrong[1]) == 0;
  }

  bool text(size_t slot, const char *data, uint64_t size, atalaya_str &to) {
    to.data = nullptr;
    to.size = size;
    if (size == 0) return true;
    if (const char *known = recent_.find(slot, data, size)) {
      to.data = known;
      return true;
    }
    const std::byte *from = size > memory_.size ? nullptr : inside(data, size, 1, 1);
    if (from == nullptr) return false;
    std::byte *copy = pieces_.take(size);
    if (size <= kShort && memory_.data + memory_.size - from >= static_cast<long>(kShort) && pieces_.left() >= kShort)
      std::memcpy(copy, from, kShort);  // more than asked for, in one instruction
    else
      std::memcpy(copy, from, size);
    to.data = reinterpret_cast<const char *>(copy);
    recent_.keep(slot, data, size, to.data);
    return true;
  }

  static constexpr size_t kShort = 16;
  const BatchMemory &memory_;
  uint64_t left_;
  uint32_t names_;
  Batch &to_;
  Pieces pieces_;
  Recent recent_;
};

class Putter {
 public:
  explicit Putter(const BatchMemory &memory) : memory_(memory) {}

  // Null if the memory is exhausted.
  template <class T>
  T *array(const T *from, uint64_t count) {
    const uint64_t start = (used_ + alignof(T) - 1) & ~uint64_t{alignof(T) - 1};
    if (start > memory_.size || count > (memory_.size - start) / sizeof(T)) return nullptr;
    used_ = start + count * sizeof(T);
    auto *to = reinterpret_cast<T *>(memory_.data + start);
    if (count > 0) std::memcpy(to, from, count * sizeof(T));
    return to;
  }
  bool text(size_t slot, atalaya_str &text) {
    if (text.size == 0) return true;
    if (const char *known = recent_.find(slot, text.data, text.size)) {
      text.data = known;
      return true;
    }
    const char *to = array(text.data, text.size);
    if (to == nullptr) return false;
    to = as_theirs(to);
    recent_.keep(slot, text.data, text.size, to);
    text.data = to;
    return true;
  }
  bool sample(atalaya_sample &sample) {
    auto *tags = array(sample.tags, sample.tag_count);
    auto *fields = array(sample.fields, sample.field_count);
    if (tags == nullptr || fields == nullptr || !text(kRecent - 1, sample.text)) return false;
    for (uint32_t i = 0; i < sample.tag_count; ++i)
      if (!text(i, tags[i].value)) return false;
    sample.tags = as_theirs(tags);
    sample.fields = as_theirs(fields);
    sample.capacity = 0;
    return true;
  }
  template <class T>
  T *as_theirs(T *ours) const {
    const auto offset = reinterpret_cast<uint64_t>(ours) - reinterpret_cast<uint64_t>(memory_.data);
    return reinterpret_cast<T *>(memory_.base + offset);
  }
  size_t used() const { return used_; }

 private:
  const BatchMemory &memory_;
  size_t used_ = 0;
  Recent recent_;
};

}  // namespace

Status take_batch(const BatchMemory &memory, const ForeignBatch &batch, uint32_t names, Batch &to) {
  if (batch.count > memory.size / sizeof(atalaya_sample))
    return Error{"it says that it has " + std::to_string(batch.count) + " samples, which its memory cannot hold"};
  if (batch.count == 0) return Done{};
  Taker taker(memory, names, to);
  const std::byte *samples =
      taker.inside(reinterpret_cast<const void *>(batch.samples), batch.count, sizeof(atalaya_sample), alignof(atalaya_sample));
  if (samples == nullptr) return Error{"its samples lie outside its memory"};
  const uint64_t before = to.count();
  to.reserve_samples(batch.count);
  for (uint64_t i = 0; i < batch.count; ++i) {
    const char *wrong = taker.sample(samples + i * sizeof(atalaya_sample));
    if (wrong == nullptr) continue;
    to.raw().count = before;
    return Error{"sample " + std::to_string(i + 1) + " of " + std::to_string(batch.count) + ": " + wrong};
  }
  return Done{};
}

Result<ForeignBatch> put_batch(const atalaya_batch &batch, const BatchMemory &memory, size_t &used) {
  Putter putter(memory);
  atalaya_sample *samples = putter.array<atalaya_sample>(batch.samples, batch.count);
  for (uint64_t i = 0; samples != nullptr && i < batch.count; ++i)
    if (!putter.sample(samples[i])) samples = nullptr;
  if (samples == nullptr)
    return Error{"a batch of " + std::to_string(batch.count) + " samples does not fit into the " +
                 std::to_string(memory.size >> 20) + " MiB that it shares; raise isolation.memory"};
  used = putter.used();
  return ForeignBatch{reinterpret_cast<uint64_t>(putter.as_theirs(samples)), batch.count};
}

}  // namespace atalaya::core
