// SPDX-License-Identifier: Apache-2.0
#include "core/base/sample/batch.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace atalaya::core {
namespace {

constexpr uint32_t kMaxArray = 0xffff;

template <class T>
T *moved(Arena &arena, const T *from, uint32_t count, uint32_t room) {
  T *to = static_cast<T *>(arena.allocate(room * sizeof(T), alignof(T)));
  if (count > 0) std::memcpy(to, from, count * sizeof(T));
  return to;
}

uint32_t tag_room(const atalaya_sample &sample) {
  return sample.capacity & 0xffffu;
}
uint32_t field_room(const atalaya_sample &sample) {
  return sample.capacity >> 16;
}

}  // namespace

Batch::Batch(std::byte *memory, size_t size, atalaya_sample *samples, uint64_t count) : arena_(memory, size) {
  reset_view();
  raw_.samples = samples;
  raw_.count = count;
}

void Batch::clear() {
  arena_.reset();
  reset_view();
}

void Batch::reset_view() {
  raw_ = {};
  raw_.struct_size = sizeof(raw_);
  raw_.sample_size = sizeof(atalaya_sample);
  raw_.arena = this;
  own_samples_ = nullptr;
  own_capacity_ = 0;
}

void Batch::recycle() {
  // Frees memory only after several uses: a burst does not occupy memory permanently, and a steady load allocates nothing.
  static constexpr unsigned kTrimEvery = 64;
  if (++uses_ % kTrimEvery == 0) arena_.trim();
  clear();
}

void Batch::reserve_samples(uint64_t more) {
  const bool ours = raw_.samples == own_samples_;
  if (ours && raw_.count + more <= own_capacity_) return;
  const uint64_t room = std::max<uint64_t>(raw_.count + more, ours ? own_capacity_ * 2 : 32);
  auto *samples = static_cast<atalaya_sample *>(arena_.allocate(room * sizeof(atalaya_sample), alignof(atalaya_sample)));
  if (raw_.count > 0) std::memcpy(samples, raw_.samples, raw_.count * sizeof(atalaya_sample));
  raw_.samples = own_samples_ = samples;
  own_capacity_ = room;
}

atalaya_sample &Batch::add_sample(uint32_t kind) {
  reserve_samples(1);
  atalaya_sample &sample = raw_.samples[raw_.count++];
  sample = {};
  sample.kind = kind;
  return sample;
}

void Batch::reserve(atalaya_sample &sample, uint32_t tags, uint32_t fields) {
  if (tags > kMaxArray || fields > kMaxArray) throw std::length_error("a sample holds at most 65535 tags and fields");
  const uint32_t old_tags = tag_room(sample);
  const uint32_t old_fields = field_room(sample);
  if (tags > old_tags) sample.tags = moved(arena_, sample.tags, sample.tag_count, tags);
  if (fields > old_fields) sample.fields = moved(arena_, sample.fields, sample.field_count, fields);
  sample.capacity = std::max(tags, old_tags) | std::max(fields, old_fields) << 16;
}

void Batch::add_tag(atalaya_sample &sample, uint32_t key, std::string_view value) {
  if (sample.tag_count >= tag_room(sample)) reserve(sample, sample.tag_count + 4, sample.field_count);
  sample.tags[sample.tag_count++] = {key, 0, copy(value)};
}

void Batch::add_field(atalaya_sample &sample, const atalaya_field &field) {
  if (sample.field_count >= field_room(sample)) reserve(sample, sample.tag_count, sample.field_count + 8);
  sample.fields[sample.field_count++] = field;
}

atalaya_str Batch::copy(std::string_view text) {
  if (text.empty()) return {nullptr, 0};
  auto *data = static_cast<char *>(arena_.allocate(text.size(), 1));
  std::memcpy(data, text.data(), text.size());
  return {data, text.size()};
}

void Batch::append(const atalaya_batch &other) {
  reserve_samples(other.count);
  for (uint64_t i = 0; i < other.count; ++i) {
    const atalaya_sample &from = other.samples[i];
    atalaya_sample &to = add_sample(from.kind);
    to.time_ns = from.time_ns;
    to.duration_ns = from.duration_ns;
    to.text = copy(view_of(from.text));
    reserve(to, from.tag_count + 1, from.field_count);
    for (uint32_t t = 0; t < from.tag_count; ++t) add_tag(to, from.tags[t].key, view_of(from.tags[t].value));
    if (from.field_count > 0) std::memcpy(to.fields, from.fields, from.field_count * sizeof(atalaya_field));
    to.field_count = from.field_count;
  }
}

BatchOwner BatchPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      BatchOwner batch = std::move(idle_.back());
      idle_.pop_back();
      min_idle_ = std::min(min_idle_, idle_.size());
      return batch;
    }
  }
  return std::make_unique<Batch>();
}

void BatchPool::return_batch(BatchOwner batch) {
  if (batch == nullptr) return;
  batch->recycle();
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(batch));
  free_unneeded();
}

// Frees batches that stay idle after a burst, such as a full queue.
void BatchPool::free_unneeded() {
  static constexpr unsigned kDropEvery = 64;
  if (++returned_ % kDropEvery != 0) return;
  idle_.erase(idle_.begin(), idle_.begin() + static_cast<std::ptrdiff_t>(std::min(min_idle_, idle_.size())));
  min_idle_ = idle_.size();
}

BatchRef BatchPool::freeze(BatchOwner batch) {
  return {batch.release(),
          [pool = shared_from_this()](const Batch *done) { pool->return_batch(BatchOwner(const_cast<Batch *>(done))); }};
}

}  // namespace atalaya::core
