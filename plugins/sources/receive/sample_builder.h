// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.hpp>

#include <functional>
#include <optional>

#include <string_view>
#include <vector>

#include "plugins/shared/protocols/opentsdb/json_reader.h"
#include "plugins/sources/receive/name_budget.h"

namespace atalaya::receive {

// Converts records to samples of a batch. Points of one request with the same tags and time become the fields of one sample.
class SampleBuilder final : public protocols::RecordReceiver {
 public:
  // `max_names` limits the names that senders add to the agent's table (see NameBudget).
  SampleBuilder(Host host, size_t max_names) : host_(host), names_(max_names) {}

  void begin_batch(atalaya_batch *raw);
  // `sender` null: the request has no sender, so no limits per sender apply. `now_ns` is monotonic.
  void begin_request(const SenderPtr &sender = nullptr, int64_t now_ns = 0);
  bool take(const protocols::Record &record) override;
  bool declare(std::string_view name, const atalaya_metric_info &info) override;
  void undo_request();  // removes the samples of this request
  uint64_t samples() const { return batch_ ? batch_->samples().size() : 0; }
  const NameBudget &names() const { return names_; }
  Batch &batch() { return *batch_; }

 private:
  static constexpr size_t kMaxName = 1024;

  struct KnownName {
    std::string_view name;
    uint32_t id = 0;
  };

  uint32_t id_of(std::string_view name);  // 0: limit reached
  // The same, but compares first with the name at this position of the previous record: records of a request mostly have the same
  // names.
  uint32_t id_of(std::string_view name, std::vector<KnownName> &last, size_t place);
  uint32_t add_name(std::string_view name);
  void count_series(const protocols::Record &record, uint64_t entity);
  bool intern(const protocols::Record &record);
  void add_sample(const protocols::Record &record);
  void put_field(Sample &sample, uint32_t name, const protocols::RecordField &field);
  // Returns the sample of this request with the tags and time of the record; null if there is none: `slot` is then the free slot.
  Sample *find(const protocols::Record &record, uint64_t hash, size_t &slot);
  bool same_entity(const Sample &sample, const protocols::Record &record) const;
  void grow_table();

  Host host_;
  NameBudget names_;
  std::optional<Batch> batch_;
  // Of the current request:
  SenderPtr sender_;
  int64_t now_ns_ = 0;
  uint64_t first_sample_ = 0;                       // index of its first sample in the batch
  std::vector<uint32_t> tag_ids_, field_ids_;       // ids of the current record
  std::vector<KnownName> last_tags_, last_fields_;  // names of the previous record of the request

  struct Slot {
    uint64_t hash = 0;
    uint64_t sample = 0;  // index of the sample + 1; 0: the slot is free
  };
  std::vector<Slot> table_;
  size_t table_entries_ = 0;
};

}  // namespace atalaya::receive
