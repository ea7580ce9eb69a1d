// SPDX-License-Identifier: Apache-2.0
#include "core/base/sample/catalogue.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/log.h"
#include "core/base/sample/batch.h"
#include "core/base/text/ucum.h"

namespace atalaya::core {
namespace {

// The longest prefix of at most `size` bytes that does not split a UTF-8 character.
std::string_view cut(std::string_view text, size_t size) {
  if (text.size() <= size) return text;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0u) == 0x80u) --size;
  return text.substr(0, size);
}

bool equal(const atalaya_metric_info &a, const atalaya_metric_info &b) {
  return a.kind == b.kind && a.decimals == b.decimals && view_of(a.unit) == view_of(b.unit);
}

}  // namespace

const char *metric_problem(const atalaya_metric_info &info) {
  if (info.kind < ATALAYA_GAUGE || info.kind > ATALAYA_TOTAL) return "has an unknown kind";
  if (info.decimals < -1 || info.decimals > kMaxDecimals) return "has decimals outside of -1 to 9";
  if (!is_ucum(view_of(info.unit))) return "has a unit that is not UCUM (\"1\" is a number without a unit, \"By\" are bytes)";
  return nullptr;
}

std::string_view metric_kind_name(uint32_t kind) {
  static constexpr std::array<std::string_view, 5> kNames = {"", "gauge", "rate", "delta", "total"};
  return kNames[kind < kNames.size() ? kind : 0];
}

std::string describe_metric(const atalaya_metric_info &info) {
  return std::string(metric_kind_name(info.kind)) + " in \"" + text_of(info.unit) + "\" " +
         (info.decimals < 0 ? "without decimals, a count" : "with " + std::to_string(info.decimals) + " decimals");
}

atalaya_metric_info metric_info_of(const atalaya_metric &metric) {
  return {sizeof(atalaya_metric_info), metric.kind, metric.decimals, 0, metric.unit, metric.summary, metric.source};
}

atalaya_metric_info with_short_texts(atalaya_metric_info info) {
  info.summary.size = cut(view_of(info.summary), Catalogue::kMaxText).size();
  info.source.size = cut(view_of(info.source), Catalogue::kMaxText).size();
  return info;
}

Catalogue::~Catalogue() {
  for (auto &chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
}

const atalaya_metric_info *Catalogue::find(uint32_t id) const {
  if (id == 0 || id > kMaxMetricNames) return nullptr;
  const Chunk *chunk = chunks_[id / kChunk].load(std::memory_order_acquire);
  if (chunk == nullptr) return nullptr;
  const Entry *entry = chunk->entries[id % kChunk].load(std::memory_order_acquire);
  return entry == nullptr ? nullptr : &entry->info;
}

Catalogue::Outcome Catalogue::declare_locked(uint32_t id, const atalaya_metric_info &long_info, Entry *&known) {
  const atalaya_metric_info info = with_short_texts(long_info);
  auto &slot = chunks_[id / kChunk];
  Chunk *chunk = slot.load(std::memory_order_relaxed);
  if (chunk != nullptr)
    known = const_cast<Entry *>(
        chunk->entries[id % kChunk].load(std::memory_order_relaxed));  // the entries are not const here, and the lock is held
  if (known != nullptr) return equal(known->info, info) ? Outcome::same : Outcome::conflict;
  const std::string_view unit = view_of(info.unit);
  const std::string_view summary = view_of(info.summary);
  const std::string_view source = view_of(info.source);
  const size_t size = sizeof(Entry) + unit.size() + summary.size() + source.size() + (chunk == nullptr ? sizeof(Chunk) : size_t{0});
  if (bytes_ + size > max_bytes_) return Outcome::full;
  if (chunk == nullptr) slot.store(chunk = std::make_unique<Chunk>().release(), std::memory_order_release);
  Entry &entry = entries_.emplace_back();
  entry.text.reserve(unit.size() + summary.size() + source.size());
  entry.text.append(unit).append(summary).append(source);
  const char *text = entry.text.data();
  entry.info = {sizeof(atalaya_metric_info),
                info.kind,
                info.decimals,
                0,
                {text, unit.size()},
                {text + unit.size(), summary.size()},
                {text + unit.size() + summary.size(), source.size()}};
  bytes_ += size;
  chunk->entries[id % kChunk].store(&entry, std::memory_order_release);
  size_.fetch_add(1, std::memory_order_release);
  return Outcome::added;
}

Catalogue::Outcome Catalogue::declare(uint32_t id, std::string_view name, const atalaya_metric_info &info,
                                      std::string_view declarer) {
  // First compares without the lock, because senders repeat their declarations in each message.
  if (const atalaya_metric_info *found = find(id); found != nullptr && equal(*found, info)) return Outcome::same;
  if (id == 0 || id > kMaxMetricNames || metric_problem(info) != nullptr) return Outcome::invalid;
  const std::lock_guard lock(mutex_);
  Entry *known = nullptr;
  const Outcome outcome = declare_locked(id, info, known);
  if (outcome != Outcome::conflict) return outcome;
  conflicts_.fetch_add(1, std::memory_order_relaxed);
  if (!declarer.empty() && !std::exchange(known->reported, true))
    log(LogLevel::warning, "metric \"" + std::string(name) + "\" is a " + describe_metric(known->info) + "; " +
                               std::string(declarer) + " declares it as a " + describe_metric(info) + ", which is ignored");
  return outcome;
}

Catalogue::Outcome Catalogue::declare(uint32_t id, const atalaya_metric_info &info) {
  return declare(id, {}, info, {});
}

size_t Catalogue::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace atalaya::core
