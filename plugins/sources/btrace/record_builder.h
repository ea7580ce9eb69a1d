// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "plugins/shared/protocols/btrace/record.h"

namespace atalaya::btrace {

// Adds trace records to a batch. Metric names come from the trace files, so their number is limited.
class RecordBuilder {
 public:
  RecordBuilder(Host host, size_t max_names) : host_(host), max_names_(max_names) {}

  // Samples without a time get the times time_ns, time_ns + 1, ...: samples of one series must have different times.
  void begin_batch(atalaya_batch *batch, int64_t time_ns);
  void add(const Record &record);
  uint64_t samples() const { return batch_->samples().size(); }
  int64_t next_time_ns() const { return time_ns_; }

  bool names_full() const { return names_full_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  uint32_t id_of(std::string_view name);  // returns 0 if the limit of names is reached
  void declare(uint32_t field, std::string_view name, bool is_count);

  Host host_;
  const size_t max_names_;
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> ids_;
  std::unordered_set<uint32_t> declared_;  // ids of declared metrics
  bool names_full_ = false;
  std::unique_ptr<Batch> batch_;
  int64_t time_ns_ = 0;
};

}  // namespace atalaya::btrace
