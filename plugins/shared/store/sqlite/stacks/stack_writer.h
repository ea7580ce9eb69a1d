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

// Writes stacks to the table `stacks`. A row has the numbers of all stacks of a window, entity and field, in the order of their
// nodes. Changes are buffered; `flush` reads, merges and writes each changed row once. Calls are in a transaction.
class StackWriter {
 public:
  explicit StackWriter(Database &database);

  // `fields` have the form of a row of `samples`. They replace the fields of the stored stack; the fields of truncated stacks
  // with the same end are added up until the next flush.
  void add(int64_t window, int64_t entity, const StackTree::Stack &stack, std::string_view fields);
  // Removes the same fields from the stack of this window.
  void remove(int64_t window, int64_t entity, int64_t node, std::string_view fields);
  void flush();
  // Call it after a rollback.
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
    std::optional<Number> number;  // absent: the number is removed
    bool is_more = false;          // greater than in the previous change
  };
  struct Entry {
    int64_t node = 0;
    Number number;
  };

  static void merge_pending(std::vector<Change> &changes);
  void read(const Place &place);
  // True: the row has changed and must be written.
  bool merge(const std::vector<Change> &changes);
  void write(const Place &place);

  Database &database_;
  Statement find_, put_, remove_;
  std::map<Place, std::vector<Change>> changes_;
  std::vector<Entry> stored_, merged_;  // entries of the row that is being written
  std::string text_;
};

}  // namespace atalaya::store
