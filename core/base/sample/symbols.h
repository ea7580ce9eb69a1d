// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/sample/catalogue.h"

namespace atalaya::core {

// The names of tags and fields and their ids, which are valid until the process ends. Ids start at 1; 0 means "no name". Any
// thread.
class NameTable {
 public:
  virtual ~NameTable() = default;
  // Returns the id of a name, which is added if it is new. 0 if the name is empty or too long, or the table is full.
  virtual uint32_t intern(std::string_view name) = 0;
  // Empty for an unknown id.
  virtual std::string_view name(uint32_t id) const = 0;
  // The declaration of the metric with this name; null for an undeclared metric. Valid until the process ends; locks nothing.
  virtual const atalaya_metric_info *metric(uint32_t id) const = 0;
  // Declares a metric by its name. `declarer` is for the log.
  virtual Catalogue::Outcome declare(std::string_view name, const atalaya_metric_info &info, std::string_view declarer) = 0;
};

// The agent's table of names. Reading the name of an id locks nothing.
class Symbols final : public NameTable {
 public:
  static constexpr uint32_t kMaxNames = kMaxMetricNames;  // against peers that send new names without end
  static constexpr size_t kMaxNameSize = 4096;

  Symbols();
  Symbols(const Symbols &) = delete;
  Symbols &operator=(const Symbols &) = delete;
  ~Symbols() override;

  uint32_t intern(std::string_view name) override;
  std::string_view name(uint32_t id) const override;
  uint32_t find(std::string_view name) const;  // 0 for a name that is not in the table
  const atalaya_metric_info *metric(uint32_t id) const override { return catalogue_.find(id); }
  Catalogue::Outcome declare(std::string_view name, const atalaya_metric_info &info, std::string_view declarer) override;
  const Catalogue &catalogue() const { return catalogue_; }
  uint32_t size() const { return size_.load(std::memory_order_acquire); }

 private:
  static constexpr uint32_t kChunk = 1024;
  struct Chunk {
    std::array<std::string, kChunk> names;
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::string_view, uint32_t> ids_;
  // Chunks never move, so that readers need no lock.
  std::array<std::atomic<Chunk *>, kMaxNames / kChunk> chunks_{};
  std::atomic<uint32_t> size_{0};
  Catalogue catalogue_;
};

}  // namespace atalaya::core
