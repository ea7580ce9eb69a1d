// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/rows/fields.h"
#include "plugins/shared/store/sqlite/stacks/stack_tree.h"

namespace atalaya::store {

// Puts stacks into the table `stacks`: a row for each window, entity and field holds the numbers of all its stacks, in the order of
// their nodes. Changes are buffered; `flush` reads, merges and writes each row that it touches once. Calls lie in a
// transaction.
class StackWriter {
 public:
  explicit StackWriter(Database &database);

  // `fields`: as in a row of `samples`. They replace those that the stack has; of stacks that are not whole, and end alike, they
  // are added up until the next flush.
  void add(int64_t window, int64_t entity, const StackTree::Stack &stack, std::string_view fields);
  // The same fields do not count here any more.
  void remove(int64_t window, int64_t entity, int64_t node, std::string_view fields);
  void flush();
  // After a rollback.
  void forget() { changes_.clear(); }

 private:
  struct Place {
    int64_t window = 0, entity = 0, field = 0;
    bool operator<(const Place &other) const {
      return std::tie(window, entity, field) < std::tie(other.window, other.entity, other.field);
    }
  };
  struct Change {
    int64_t node = 0;
    std::optional<Number> number;  // none: it is removed
    bool is_more = false;          // than in the previous change
  };
  struct Entry {
    int64_t node = 0;
    Number number;
  };

  static void unite(std::vector<Change> &changes);
  void read(const Place &place);
  // True: there is something to write.
  bool merge(const std::vector<Change> &changes);
  void write(const Place &place);

  Database &database_;
  Statement find_, put_, remove_;
  std::map<Place, std::vector<Change>> changes_;
  std::vector<Entry> stored_, merged_;  // of the row that is being written
  std::string text_;
};

}  // namespace atalaya::store
