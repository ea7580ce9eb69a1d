// SPDX-License-Identifier: Apache-2.0
// Finds the entities that a selection matches.
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

// Returns the texts of a list of exact patterns as a JSON array, for a search in an index. Nothing if one of them is not exact,
// or if there is none.
std::optional<std::string> exact_texts(const std::vector<std::string> &patterns);

struct Entity {
  Tags tags;
  Range active;  // the range that contains all its samples
};
using Entities = std::map<int64_t, Entity>;

// Reads the tags of an entity from its columns host, pid, process and tags.
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
  Tags::iterator next_ = tags_.end();  // position at which the next key was found in the last row
};

// `wanted` is called before the tags are read. The visitor returns false to stop.
using Wanted = std::function<bool(int64_t entity)>;
using EntityVisitor = std::function<bool(int64_t id, Entity &&entity)>;
// Visits entities with at least one stored number.
void for_each_with_metrics(Database &database, const Selection &selection, const Wanted &wanted, const EntityVisitor &visitor);

// Returns the entities that pass the filters and may have samples in the range.
Entities find_entities(Database &database, const Selection &selection);

}  // namespace atalaya::store
