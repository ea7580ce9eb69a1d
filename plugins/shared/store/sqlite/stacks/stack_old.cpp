// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/stacks/stack_old.h"

namespace atalaya::store {

OldStacks::OldStacks(Database &database, StackTree &tree, StackWriter &writer)
    : tree_(tree),
      writer_(writer),
      find_(database,
            "SELECT s.entity, s.fields, t.folded FROM old_stacks s CROSS JOIN old_stack_texts t ON t.id = s.stack "
            "WHERE s.window = ?1"),
      remove_(database, "DELETE FROM old_stacks WHERE window = ?1"),
      last_window_(database.number("SELECT max(window) FROM old_stacks")) {}

void OldStacks::move(int64_t window, int64_t now_ns) {
  if (window > last_window_) return;
  find_.each([&](const Row &row) { writer_.add(window, row.integer(0), tree_.put(row.text(2), now_ns), row.text(1)); }, window);
  remove_.run(window);
}

}  // namespace atalaya::store
