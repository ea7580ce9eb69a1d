// SPDX-License-Identifier: Apache-2.0
#include "core/base/sample/symbols.h"

namespace atalaya::core {

Symbols::Symbols() = default;

Symbols::~Symbols() {
  for (auto &chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
}

uint32_t Symbols::intern(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameSize) return 0;
  const std::lock_guard lock(mutex_);
  if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
  const uint32_t index = size_.load(std::memory_order_relaxed);
  if (index >= kMaxNames) return 0;
  auto &slot = chunks_[index / kChunk];
  if (slot.load(std::memory_order_relaxed) == nullptr) slot.store(std::make_unique<Chunk>().release(), std::memory_order_release);
  std::string &kept = slot.load(std::memory_order_relaxed)->names[index % kChunk];
  kept = name;
  ids_.emplace(kept, index + 1);
  size_.store(index + 1, std::memory_order_release);
  return index + 1;
}

uint32_t Symbols::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find(name);
  return found == ids_.end() ? 0 : found->second;
}

std::string_view Symbols::name(uint32_t id) const {
  if (id == 0 || id > size_.load(std::memory_order_acquire)) return {};
  return chunks_[(id - 1) / kChunk].load(std::memory_order_acquire)->names[(id - 1) % kChunk];
}

Catalogue::Outcome Symbols::declare(std::string_view name, const atalaya_metric_info &info, std::string_view declarer) {
  if (metric_problem(info) != nullptr || name.empty() || name.size() > kMaxNameSize) return Catalogue::Outcome::invalid;
  const uint32_t id = intern(name);
  return id == 0 ? Catalogue::Outcome::full : catalogue_.declare(id, name, info, declarer);
}

}  // namespace atalaya::core
