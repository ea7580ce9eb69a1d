// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/foreign_batch.h"

#include <array>
#include <cstring>
#include <string>

namespace atalaya::core {
namespace {

constexpr uint32_t kMaxArray = 0xffff;  // tags or fields of a sample, as everywhere
constexpr size_t kRecent = 16;

// The first read is the last one: what was copied is what gets checked and used, whatever happens to the original meanwhile.
void read_once(void *to, const std::byte *from, size_t size) {
  std::memcpy(to, from, size);
  asm volatile("" ::: "memory");
}

// Tags of the same text, one after the other in each sample, are copied once.
class Recent {
 public:
  const atalaya_str *find(size_t slot, atalaya_str from) const {
    const Entry &entry = entries_[slot % kRecent];
    return from.size > 0 && entry.from.data == from.data && entry.from.size == from.size ? &entry.to : nullptr;
  }
  void keep(size_t slot, atalaya_str from, atalaya_str to) { entries_[slot % kRecent] = {from, to}; }

 private:
  struct Entry {
    atalaya_str from, to;
  };
  std::array<Entry, kRecent> entries_{};
};

class Taker {
 public:
  Taker(const BatchMemory &memory, uint32_t names, Batch &to)
      : memory_(memory), left_(memory.size), names_(names), to_(to), arena_(to.arena()) {}

  // What is wrong; null if nothing.
  const char *sample(const std::byte *from) {
    atalaya_sample copy;
    read_once(&copy, from, sizeof(copy));
    if (copy.kind > ATALAYA_SPAN) return "it is of an unknown kind";
    if (copy.tag_count > kMaxArray || copy.field_count > kMaxArray) return "it has more than 65535 tags or fields";
    // One more: most sources leave the tag host to the engine.
    auto *tags = array<atalaya_tag>(copy.tags, copy.tag_count, 1);
    if (tags == nullptr) return "its tags lie outside the batch's memory";
    auto *fields = array<atalaya_field>(copy.fields, copy.field_count, 0);
    if (fields == nullptr) return "its fields lie outside the batch's memory";
    for (uint32_t i = 0; i < copy.tag_count; ++i) {
      if (tags[i].key > names_) return "a tag has an unknown name";
      tags[i].reserved = 0;
      if (!text(i, tags[i].value)) return "the text of a tag lies outside the batch's memory";
    }
    for (uint32_t i = 0; i < copy.field_count; ++i) {
      if (fields[i].name > names_) return "a field has an unknown name";
      if (fields[i].type > ATALAYA_I64) return "a field is of an unknown type";
    }
    if (!text(kRecent - 1, copy.text)) return "its text lies outside the batch's memory";
    copy.tags = tags;
    copy.fields = fields;
    copy.capacity = copy.tag_count < kMaxArray ? (copy.tag_count + 1) | copy.field_count << 16 : 0;
    to_.add_sample(copy.kind) = copy;
    return nullptr;
  }

  // Where so many bytes lie that the other process has at this address; null unless they are inside and aligned. Pieces may
  // overlap, but all together they are no more than there is memory: else a small batch could say that it is a huge one.
  const std::byte *inside(uint64_t address, uint64_t bytes, uint64_t alignment) {
    const uint64_t offset = address - memory_.base;
    if (offset > memory_.size || bytes > memory_.size - offset || bytes > left_ || offset % alignment != 0) return nullptr;
    left_ -= bytes;
    return memory_.data + offset;
  }

 private:
  template <class T>
  T *array(const T *address, uint32_t count, uint32_t more) {
    auto *copy = static_cast<T *>(arena_.allocate((size_t{count} + more) * sizeof(T), alignof(T)));
    if (count == 0) return copy;
    const std::byte *from = inside(reinterpret_cast<uint64_t>(address), count * sizeof(T), alignof(T));
    if (from == nullptr) return nullptr;
    read_once(copy, from, count * sizeof(T));
    return copy;
  }

  bool text(size_t slot, atalaya_str &text) {
    if (text.size == 0) {
      text.data = nullptr;
      return true;
    }
    if (const atalaya_str *known = recent_.find(slot, text)) {
      text = *known;
      return true;
    }
    const std::byte *from = inside(reinterpret_cast<uint64_t>(text.data), text.size, 1);
    if (from == nullptr) return false;
    auto *copy = static_cast<char *>(arena_.allocate(text.size, 1));
    std::memcpy(copy, from, text.size);
    const atalaya_str taken{copy, text.size};
    recent_.keep(slot, text, taken);
    text = taken;
    return true;
  }

  const BatchMemory &memory_;
  uint64_t left_;
  uint32_t names_;
  Batch &to_;
  Arena &arena_;
  Recent recent_;
};

class Putter {
 public:
  explicit Putter(const BatchMemory &memory) : memory_(memory) {}

  // Null when there is no room.
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
    if (const atalaya_str *known = recent_.find(slot, text)) {
      text = *known;
      return true;
    }
    const char *to = array(text.data, text.size);
    if (to == nullptr) return false;
    const atalaya_str put{as_theirs(to), text.size};
    recent_.keep(slot, text, put);
    text = put;
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
  const std::byte *samples = taker.inside(batch.samples, batch.count * sizeof(atalaya_sample), alignof(atalaya_sample));
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
