// SPDX-License-Identifier: Apache-2.0
// The entities that a selection matches.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/shared/store/selection.h"
#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store {

// The texts of a list of exact patterns as a JSON array: what an index can look up. Nothing where one is not exact, or there is
// none.
std::optional<std::string> exact_texts(const std::vector<std::string> &patterns);

struct Entity {
  Tags tags;
  Range active;  // contains all its samples
};
using Entities = std::map<int64_t, Entity>;

// The tags of an entity from its columns host, pid, process and tags.
class EntityTags {
 public:
  explicit EntityTags(Database &database) : other_tags_(database, "SELECT key, value FROM json_each(?1)") {}
  // `first` is the column host; the others follow it. Valid until the next call.
  const Tags &read(const Row &row, int first);

 private:
  bool refill(const Row &row, int first);
  bool put(std::string_view key, std::string_view value);

  Statement other_tags_;
  Tags tags_;
  Tags::iterator next_ = tags_.end();  // where the next key was the last time
};

// `wanted` is asked first, before the tags are read. The visitor says whether it wants more.
using Wanted = std::function<bool(int64_t entity)>;
using EntityVisitor = std::function<bool(int64_t id, Entity &&entity)>;
// Entities with at least one stored number.
void each_with_metrics(Database &database, const Selection &selection, const Wanted &wanted, const EntityVisitor &visitor);

// Those that pass the filters and may have samples in the range.
Entities find_entities(Database &database, const Selection &selection);

}  // namespace atalaya::store
