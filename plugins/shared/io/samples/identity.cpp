// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/samples/identity.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "core/base/sample/batch.h"

namespace atalaya::io {

std::string_view IdentityKey::identity_of(const atalaya_sample &sample) {
  begin();
  number(sample.kind);
  text(core::view_of(sample.text));
  for (uint32_t i = 0; i < sample.tag_count; ++i) tag(sample.tags[i]);
  return finish();
}

void IdentityKey::number(int64_t value) {
  char raw[sizeof(value)];
  std::memcpy(raw, &value, sizeof(value));
  bytes_.append(raw, sizeof(raw));
}

void IdentityKey::text(std::string_view value) {
  number(static_cast<int64_t>(value.size()));
  bytes_.append(value);
}

std::string_view IdentityKey::finish() {
  const auto before = [](const atalaya_tag &a, const atalaya_tag &b) {
    return a.key != b.key ? a.key < b.key : core::view_of(a.value) < core::view_of(b.value);
  };
  // Insertion sort: faster than a general sort for a few tags that are usually sorted already.
  for (size_t i = 1; i < tags_.size(); ++i)
    for (size_t j = i; j > 0 && before(tags_[j], tags_[j - 1]); --j) std::swap(tags_[j], tags_[j - 1]);
  for (const atalaya_tag &one : tags_) {
    number(one.key);
    text(core::view_of(one.value));
  }
  return bytes_;
}

IdentityTable::IdentityTable(size_t max_entries) : max_entries_(std::min<size_t>(max_entries, UINT32_MAX - 1)) {
  seed_ = random_seed();
}

uint64_t random_seed() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

uint64_t identity_hash(std::string_view key, uint64_t seed) {
  static constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t state = seed ^ key.size();
  const auto mix = [&](uint64_t word) {
    state = (state ^ word) * kOdd;
    state ^= state >> 32;
  };
  uint64_t word = 0;
  for (; key.size() >= sizeof(word); key.remove_prefix(sizeof(word))) {
    std::memcpy(&word, key.data(), sizeof(word));
    mix(word);
  }
  word = 0;
  if (!key.empty()) std::memcpy(&word, key.data(), key.size());
  mix(word);
  mix(seed);
  return state;
}

// The slot of the key, or the free slot for it.
size_t IdentityTable::slot_of(std::string_view key, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask)
    if (entries_[slots_[slot] - 1].hash == hash && this->key(slots_[slot] - 1) == key) break;
  return slot;
}

std::optional<uint32_t> IdentityTable::find(std::string_view key) {
  if (entries_.empty()) return std::nullopt;
  const size_t slot = slot_of(key, identity_hash(key, seed_));
  if (slots_[slot] == 0) return std::nullopt;
  entries_[slots_[slot] - 1].seen = window_;
  return slots_[slot] - 1;
}

std::optional<IdentityTable::Found> IdentityTable::find_or_add(std::string_view key) {
  if (slots_.size() < (entries_.size() + 1) * 2) index_all(std::max<size_t>(64, slots_.size() * 2));
  const uint64_t hash = identity_hash(key, seed_);
  const size_t slot = slot_of(key, hash);
  if (slots_[slot] != 0) {
    entries_[slots_[slot] - 1].seen = window_;
    return Found{slots_[slot] - 1, false};
  }
  if (entries_.size() >= max_entries_) return std::nullopt;
  entries_.push_back({hash, window_, bytes_.size(), key.size()});
  bytes_.append(key);
  slots_[slot] = static_cast<uint32_t>(entries_.size());
  return Found{slots_[slot] - 1, true};
}

void IdentityTable::clear() {
  entries_.clear();
  bytes_.clear();
  std::fill(slots_.begin(), slots_.end(), 0);
}

void IdentityTable::move_entry(uint32_t from, uint32_t to) {
  const size_t offset = to == 0 ? 0 : entries_[to - 1].offset + entries_[to - 1].size;
  std::memmove(bytes_.data() + offset, bytes_.data() + entries_[from].offset, entries_[from].size);
  entries_[to] = entries_[from];
  entries_[to].offset = offset;
}

void IdentityTable::shrink_to(uint32_t count) {
  if (count == entries_.size()) return;
  entries_.resize(count);
  bytes_.resize(count == 0 ? 0 : entries_.back().offset + entries_.back().size);
  index_all(slots_.size());
}

void IdentityTable::index_all(size_t slots) {
  slots_.assign(slots, 0);
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    size_t slot = entries_[i].hash & (slots - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots - 1);
    slots_[slot] = i + 1;
  }
}

}  // namespace atalaya::io
