// SPDX-License-Identifier: Apache-2.0
#include "plugins/store/stack_move.h"

namespace atalaya::store {

// Of windows that are gone nothing is moved.
StackMove::Statements::Statements(Database &database)
    : find(
          database,
          "SELECT s.window, s.entity, s.fields, t.folded FROM (SELECT * FROM old_stacks ORDER BY window, entity, stack LIMIT ?1) s "
          "CROSS JOIN windows w ON w.id = s.window CROSS JOIN old_stack_texts t ON t.id = s.stack"),
      find_in_window(database,
                     "SELECT s.window, s.entity, s.fields, t.folded FROM old_stacks s JOIN old_stack_texts t ON t.id = s.stack "
                     "WHERE s.window = ?1"),
      remove(database,
             "DELETE FROM old_stacks WHERE (window, entity, stack) IN "
             "(SELECT window, entity, stack FROM old_stacks ORDER BY window, entity, stack LIMIT ?1)"),
      remove_window(database, "DELETE FROM old_stacks WHERE window = ?1"),
      remove_texts(database, "DELETE FROM old_stack_texts WHERE id IN (SELECT id FROM old_stack_texts LIMIT ?1)") {}

StackMove::StackMove(Database &database, StackTree &tree, StackWriter &writer) : database_(database), tree_(tree), writer_(writer) {
  if (database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'old_stacks'") == 0) return;
  statements_.emplace(database);
  last_window_ = database.number("SELECT max(window) FROM old_stacks");
}

void StackMove::step(int64_t work, int64_t now_ns) {
  if (is_done()) return;
  Transaction transaction(database_);
  statements_->find.each([&](const Row &row) { put(row, now_ns); }, work);
  writer_.flush();
  statements_->remove.run(work);
  const bool has_moved = database_.changes() > 0;
  if (!has_moved) statements_->remove_texts.run(work);
  const bool is_done = !has_moved && database_.changes() == 0;
  if (is_done) database_.execute("DROP TABLE old_stacks; DROP TABLE old_stack_texts");
  transaction.commit();
  if (is_done) statements_.reset();
}

void StackMove::window(int64_t window, int64_t now_ns) {
  if (is_done() || window > last_window_) return;
  statements_->find_in_window.each([&](const Row &row) { put(row, now_ns); }, window);
  writer_.flush();
  statements_->remove_window.run(window);
}

void StackMove::put(const Row &row, int64_t now_ns) {
  writer_.add(row.integer(0), row.integer(1), tree_.node(row.text(3), now_ns), row.text(2));
}

}  // namespace atalaya::store
