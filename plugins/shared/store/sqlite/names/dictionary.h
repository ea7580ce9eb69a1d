// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atalaya/plugin.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/sample/name_cache.h"
#include "plugins/shared/store/catalogue.h"
#include "plugins/shared/store/identity.h"
#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/names/entity_ids.h"
#include "plugins/shared/store/sqlite/stacks/stack_tree.h"

namespace atalaya::store {

// The ids of metrics, entities and stacks, cached by name id and tags, so that a point needs no search for a text. The cache
// may be outdated: other writers and the deletion of an entity cause no error. Calls are in a transaction.
class Dictionary {
 public:
  Dictionary(Database &database, core::NameOf name_of, MetricOf metric_of = nullptr, Warn warn = nullptr);

  // Searches again, at most once a minute, for the declarations of metrics that were undeclared when they were first written.
  void complete_declarations(int64_t now_ns);
  uint64_t conflicts() const { return conflicts_.size(); }

  // Returns the id of a metric; 0 if its name is unknown.
  int64_t metric(uint32_t name);
  // The same, and 0 for a number that is not finite, which cannot be stored.
  int64_t metric_of(const atalaya_field &field) {
    return field.type == ATALAYA_I64 || std::isfinite(field.value.f64) ? metric(field.name) : 0;
  }
  // Returns the entity of a sample that arrives now. `metrics`: the ids of the sample's metrics as a JSON array; "" if they are
  // not recorded.
  int64_t entity(const atalaya_sample &sample, std::string_view metrics, int64_t now_ns);
  StackTree &stacks() { return stacks_; }

  // Call it after a rollback.
  void forget();
  // Deletes at most `limit` entities without rows that were last seen before the oldest stored arrival; returns their count.
  int64_t expire(int64_t oldest_arrived_ns, int64_t limit);
  // Deletes metrics and lists of metrics to which nothing refers; returns their count. Reads all of them, once a minute.
  int64_t delete_unused_names(int64_t now_ns);

 private:
  struct Entity {
    int64_t id = 0, seen_ns = 0;
    int64_t first_ns = 0, last_ns = 0;   // the range in its row: no sample is outside of it
    int64_t used_ns = 0;                 // arrival time of its last sample
    std::array<int64_t, 4> shapes = {};  // lists of metrics of its last samples; a source often alternates between two
    std::pair<const std::string, Entity> *next = nullptr;  // in the cache: the entity whose sample followed its last sample
  };
  using Known = std::pair<const std::string, Entity>;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  // Null if the entity is not in the cache.
  Known *find_known(const atalaya_sample &sample);
  const std::string &identity_of(const atalaya_sample &sample);  // valid until the next call
  Entity find_or_add(const atalaya_sample &sample, int64_t now_ns);
  int64_t tag_set(const Identity &identity);
  void trim(int64_t now_ns);
  void clear_caches();
  void widen(Entity &entity, int64_t time_ns);
  void add_shape(Entity &entity, std::string_view metrics);
  int64_t shape(std::string_view metrics);
  int64_t find_shape(std::string_view metrics);
  int64_t find_metric(std::string_view name);
  // Writes the declaration of the metric if the store has none. False: the metric is undeclared.
  bool declare(uint32_t name, int64_t metric);

  core::NameOf name_of_;
  MetricOf metric_of_;
  Warn warn_;
  Database &database_;
  Statement find_metric_, add_metric_, find_declaration_, declare_metric_;
  Statement find_tag_set_, add_tag_set_, expire_tag_set_;
  Statement find_entity_, add_entity_, mark_entity_seen_, widen_entity_, expire_entities_;
  Statement find_shape_, add_shape_, add_entity_shape_, expire_shapes_;
  EntityIds entity_ids_;
  StackTree stacks_;

  std::vector<int64_t> metrics_;           // metric ids by name id
  std::vector<uint32_t> undeclared_;       // name ids
  std::unordered_set<int64_t> conflicts_;  // ids of metrics with conflicting declarations
  int64_t declarations_checked_ns_ = 0;
  std::unordered_map<std::string, Entity, Hash, std::equal_to<>> entities_;
  Known *last_known_ = nullptr;                                             // entity of the last sample
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> shapes_;  // ids by text
  std::string last_shape_;                                                  // most samples of a batch have the same list of metrics
  int64_t last_shape_id_ = 0;
  int64_t trimmed_ns_ = 0;
  int64_t names_checked_ns_ = 0;
  int64_t expired_before_ns_ = 0;  // an entity that was last seen before this time may have been deleted from the table
  std::string identity_, scratch_;
};

}  // namespace atalaya::store
