// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <functional>
#include <optional>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/sources/receive/json_reader.h"
#include "plugins/sources/receive/senders.h"

namespace atalaya::receive {

// Converts records to samples of a batch. Points of one request with the same tags and time become the fields of one sample.
class SampleBuilder final : public Taker {
 public:
  // max_names protects the agent's table of names from senders; so do limits of a name's size and of the size of all.
  SampleBuilder(Host host, size_t max_names) : host_(host), max_names_(max_names) {}

  void begin_batch(atalaya_batch *raw);
  // A sender may add up to half of the names. Null: no limit.
  void begin_request(Sender *sender = nullptr);
  bool take(const Record &record) override;
  void declare(std::string_view name, const atalaya_metric_info &info) override;
  void undo_request();  // removes the samples of this request
  uint64_t samples() const { return batch_ ? batch_->samples().size() : 0; }
  bool names_full() const { return names_.size() >= max_names_ || name_bytes_ >= kMaxNameBytes; }
  bool sender_has_names_left() const {
    return sender_ == nullptr || (sender_->names < max_names_ / 2 && sender_->name_bytes < kMaxNameBytes / 2);
  }

 private:
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  static constexpr size_t kMaxName = 1024, kMaxNameBytes = size_t{16} << 20;

  uint32_t id_of(std::string_view name);  // 0: limit reached
  uint32_t add_name(std::string_view name);
  void count_series(const Record &record, uint64_t entity);
  bool intern(const Record &record);
  void add_sample(const Record &record);
  void put_field(Sample &sample, uint32_t name, const RecordField &field);
  // The sample of this request for the current point; otherwise null and its slot in the table.
  Sample *find(const Record &record, uint64_t hash, size_t &slot);
  bool same_entity(const Sample &sample, const Record &record) const;
  void grow_table();

  Host host_;
  size_t max_names_, name_bytes_ = 0;
  std::unordered_map<std::string, uint32_t, NameHash, std::equal_to<>> names_;
  std::optional<Batch> batch_;
  Sender *sender_ = nullptr;                   // of this request
  uint64_t first_ = 0;                         // of this request
  std::vector<uint32_t> tag_ids_, field_ids_;  // of the current record

  struct Slot {
    uint64_t hash = 0;
    uint64_t sample = 0;  // its index + 1; 0: free
  };
  std::vector<Slot> table_;
  size_t in_table_ = 0;
};

}  // namespace atalaya::receive
