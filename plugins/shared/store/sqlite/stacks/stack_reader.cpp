// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/stacks/stack_reader.h"

#include <algorithm>

namespace atalaya::store {

StackReader::StackReader(Database &database)
    : find_(database, "SELECT entity, field, numbers FROM stacks WHERE window = ?1 ORDER BY entity, field"), texts_(database) {}

bool StackReader::read(int64_t window, const Wanted &wanted, const Visitor &visitor) {
  int64_t entity = 0;
  bool good = true;
  cells_.clear();
  find_.each(
      [&](const Row &row) {
        if (row.integer(0) != entity) deliver(entity, visitor);
        entity = row.integer(0);
        if (!wanted(entity)) return;
        FieldReader reader(row.text(2));
        while (reader.next()) cells_.push_back({reader.metric(), {row.integer(1), reader.value()}});
        good = good && !reader.damaged();
      },
      window);
  deliver(entity, visitor);
  return good;
}

// A row has a field of all stacks; the visitor takes all fields of a stack.
void StackReader::deliver(int64_t entity, const Visitor &visitor) {
  std::stable_sort(cells_.begin(), cells_.end(), [](const Cell &a, const Cell &b) { return a.stack < b.stack; });
  for (auto cell = cells_.begin(); cell != cells_.end();) {
    const int64_t stack = cell->stack;
    values_.clear();
    for (; cell != cells_.end() && cell->stack == stack; ++cell) values_.push_back(cell->value);
    visitor({entity, stack, texts_.text(stack), values_});
  }
  cells_.clear();
}

}  // namespace atalaya::store
