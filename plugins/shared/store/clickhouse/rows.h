// SPDX-License-Identifier: Apache-2.0
// Samples as rows of the tables, in RowBinary.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/sample/name_cache.h"
#include "plugins/shared/store/identity.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store::clickhouse {

// A hash of a text, equal on all hosts: the first 8 bytes of its SHA-256.
uint64_t number_of(std::string_view text);
// The number of an entity: a hash of its sorted tags with their lengths.
uint64_t entity_of(const Tags &tags);

constexpr uint32_t kAllFields = UINT32_MAX;
struct RowPlace {
  size_t begin, end;  // position of the row's bytes
  size_t sample;      // index in the batch
  uint32_t field;     // index of the field in the sample, or kAllFields
};
struct TableRows {
  std::string bytes;
  std::vector<RowPlace> places;
  void clear() {
    bytes.clear();
    places.clear();
  }
};

class Rows {
 public:
  explicit Rows(core::NameOf name_of) : name_of_(std::move(name_of)) {}

  // Adds the rows of a sample; `index` is its index in the batch. Returns the reason if it can never be stored; "" if it was
  // added, or counted as refused.
  const char *add(const atalaya_sample &sample, size_t index, uint64_t version, Refused &refused);

  TableRows series, points, stacks, spans;
  size_t count() const { return series.places.size() + points.places.size() + stacks.places.size() + spans.places.size(); }
  size_t bytes() const { return series.bytes.size() + points.bytes.size() + stacks.bytes.size() + spans.bytes.size(); }
  size_t days() const { return days_.size(); }
  void clear();

  // Call it when the database has the series of these rows: they are not written again today.
  void mark_series_written();
  // Forgets which series the database contains.
  void forget();

 private:
  struct Entity {
    uint64_t number = 0;
    std::string tags;  // the tags as two array columns
  };
  struct Hash {
    size_t operator()(const std::pair<uint64_t, uint32_t> &key) const { return key.first ^ key.second * 0x9e3779b97f4a7c15u; }
  };

  const Entity &sample_entity(const atalaya_sample &sample);
  void add_series(const Entity &entity, uint32_t metric, uint16_t day, RowPlace place);
  void add_points(const atalaya_sample &sample, const Entity &entity, uint16_t day, size_t index, uint64_t version,
                  Refused &refused);
  void append_fields(std::string &out, const atalaya_sample &sample, Refused &refused);
  // Returns "" if the field cannot be stored.
  std::string_view metric_of(const atalaya_field &field);

  core::NameOf name_of_;
  std::unordered_map<std::string, Entity> entities_;  // by the tags in the order of the samples
  size_t entities_size_ = 0;                          // approximate size in bytes
  std::unordered_map<std::pair<uint64_t, uint32_t>, uint16_t, Hash> written_series_;
  std::unordered_map<std::pair<uint64_t, uint32_t>, uint16_t, Hash> announcing_;
  std::set<uint16_t> days_;
  std::string key_, scratch_, name_scratch_;
};

}  // namespace atalaya::store::clickhouse
