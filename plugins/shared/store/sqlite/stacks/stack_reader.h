// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/rows/fields.h"
#include "plugins/shared/store/sqlite/stacks/stack_tree.h"

namespace atalaya::store {

// Reads the stacks of windows. Calls are in one transaction.
class StackReader {
 public:
  struct Value {
    int64_t metric = 0;
    Number number;
  };
  struct Found {
    int64_t entity = 0, number = 0;
    std::string_view folded;
    std::span<const Value> values;
  };
  using Wanted = std::function<bool(int64_t entity)>;
  using Visitor = std::function<void(const Found &)>;

  explicit StackReader(Database &database);
  // False: some of the rows are damaged, and their content after the damage was omitted.
  bool read(int64_t window, const Wanted &wanted, const Visitor &visitor);

 private:
  void deliver(int64_t entity, const Visitor &visitor);

  struct Cell {
    int64_t stack = 0;
    Value value;
  };

  Statement find_;
  StackTexts texts_;
  std::vector<Cell> cells_;  // numbers of one entity
  std::vector<Value> values_;
};

}  // namespace atalaya::store
