// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

// A row of `chunks` or of `rolled`, without its points.
struct StoredChunk {
  int64_t id = 0, entity = 0;
  int64_t every_ns = 0;  // 0: a row of `chunks`
  int64_t first_ns = 0, last_ns = 0, arrived_ns = 0;
};

// The part of the table `chunks` or `rolled` that a roll-up reads and deletes.
class RollupTable {
 public:
  enum class RollupTableKind { chunks, rolled };
  RollupTable(Database &database, RollupTableKind which);

  // Returns chunks with such steps (0: chunks without steps) that arrived before the time, the oldest first.
  std::vector<StoredChunk> oldest(int64_t every_ns, int64_t before_ns, int64_t maximum);
  // Returns the chunks of an entity with shorter steps that are in an interval and arrived before a time, in order of time.
  std::vector<StoredChunk> inside(int64_t entity, int64_t shorter_than_ns, int64_t from_ns, int64_t to_ns, int64_t before_ns);
  // Returns the chunks of an entity that overlap an interval.
  std::vector<StoredChunk> overlapping(int64_t entity, int64_t from_ns, int64_t to_ns);
  // False: the chunk was deleted.
  bool read(int64_t id, const std::function<void(std::string_view head, std::string_view data)> &reader);
  bool has(int64_t id) { return has_.number(id).has_value(); }
  void remove(int64_t id) { remove_.run(id); }
  // Excludes a damaged chunk from later lists.
  void exclude(int64_t id) { exclude_.run(id); }

 private:
  template <class... Arguments>
  std::vector<StoredChunk> list(Statement &statement, const Arguments &...arguments);

  Statement oldest_, inside_, overlapping_, read_, has_, remove_, exclude_;
};

}  // namespace atalaya::store
