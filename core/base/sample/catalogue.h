// SPDX-License-Identifier: Apache-2.0
// The metric catalogue: unit, kind, decimals, summary and source of each declared metric.
#pragma once

#include <atalaya/plugin.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

namespace atalaya::core {

constexpr int32_t kMaxDecimals = 9;
constexpr uint32_t kMaxMetricNames = uint32_t{1} << 20;  // the largest id of a name

// The reason why a declaration is invalid; null if it is valid. An empty name is not checked.
const char *metric_problem(const atalaya_metric_info &info);
// "gauge", "rate", "delta", "total"; "" for an unknown kind.
std::string_view metric_kind_name(uint32_t kind);
// "gauge in MiBy with 3 decimals": the properties in which two declarations of one metric must agree.
std::string describe_metric(const atalaya_metric_info &info);
atalaya_metric_info metric_info_of(const atalaya_metric &metric);
// Cuts the summary and the source of a declaration to Catalogue::kMaxText bytes each.
atalaya_metric_info with_short_texts(atalaya_metric_info info);

// The declared metrics by the id of their name. The first declaration of a metric is valid; later ones do not change it. Any
// thread; `find` locks nothing.
class Catalogue {
 public:
  enum class Outcome { added, same, conflict, invalid, full };
  static constexpr size_t kMaxBytes = size_t{32} << 20;  // limit of memory, against senders that declare new metrics without end
  static constexpr size_t kMaxText = 512;                // bytes of a summary or a source; longer ones are cut

  explicit Catalogue(size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}
  Catalogue(const Catalogue &) = delete;
  Catalogue &operator=(const Catalogue &) = delete;
  ~Catalogue();

  // Null for an undeclared metric. The pointer is valid as long as the catalogue.
  const atalaya_metric_info *find(uint32_t id) const;
  // Two declarations agree (`same`) if their unit, kind and decimals are equal. `name` and `declarer` are for the log.
  Outcome declare(uint32_t id, std::string_view name, const atalaya_metric_info &info, std::string_view declarer);
  // Declares a metric without log lines.
  Outcome declare(uint32_t id, const atalaya_metric_info &info);

  size_t bytes() const;
  uint32_t size() const { return size_.load(std::memory_order_acquire); }
  uint64_t conflicts() const { return conflicts_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kChunk = 256;
  struct Entry {
    atalaya_metric_info info{};
    std::string text;  // unit, summary and source
    bool reported = false;
  };
  struct Chunk {
    std::array<std::atomic<const Entry *>, kChunk> entries{};
  };

  Outcome declare_locked(uint32_t id, const atalaya_metric_info &info, Entry *&existing);

  const size_t max_bytes_;
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  size_t bytes_ = 0;
  std::atomic<uint32_t> size_{0};
  std::atomic<uint64_t> conflicts_{0};
  // Chunks and entries never move, so that readers need no lock.
  std::array<std::atomic<Chunk *>, kMaxMetricNames / kChunk + 1> chunks_{};
};

}  // namespace atalaya::core
