// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/stacks/stack_reader.h"

#include <algorithm>

namespace atalaya::store {
namespace {

constexpr size_t kRemembered = 200'000;  // numbers of old stacks; some 10 MB

}  // namespace

StackReader::StackReader(Database &database)
    : find_(database, "SELECT entity, field, numbers FROM stacks WHERE window = ?1 ORDER BY entity, field"),
      find_old_(database,
                "SELECT s.entity, s.fields, s.stack, t.folded FROM old_stacks s CROSS JOIN old_stack_texts t ON t.id = s.stack "
                "WHERE s.window = ?1"),
      texts_(database) {}

void StackReader::read(int64_t window, const Wanted &wanted, const Visitor &visitor) {
  int64_t entity = 0;
  cells_.clear();
  find_.each(
      [&](const Row &row) {
        if (row.integer(0) != entity) hand_over(entity, visitor);
        entity = row.integer(0);
        if (!wanted(entity)) return;
        for (FieldReader reader(row.text(2)); reader.next();) cells_.push_back({reader.metric(), {row.integer(1), reader.value()}});
      },
      window);
  hand_over(entity, visitor);
  find_old_.each(
      [&](const Row &row) {
        if (!wanted(row.integer(0))) return;
        values_.clear();
        for (FieldReader reader(row.text(1)); reader.next();) values_.push_back({reader.metric(), reader.value()});
        visitor({row.integer(0), number_of_old(row.integer(2), row.text(3)), row.text(3), values_});
      },
      window);
}

// A row has a field of all stacks; the visitor takes all fields of a stack.
void StackReader::hand_over(int64_t entity, const Visitor &visitor) {
  std::stable_sort(cells_.begin(), cells_.end(), [](const Cell &a, const Cell &b) { return a.stack < b.stack; });
  for (auto cell = cells_.begin(); cell != cells_.end();) {
    const int64_t stack = cell->stack;
    values_.clear();
    for (; cell != cells_.end() && cell->stack == stack; ++cell) values_.push_back(cell->value);
    visitor({entity, stack, texts_.text(stack), values_});
  }
  cells_.clear();
}

// Equal texts have equal numbers: the node's where the tree has the text, else one that no node has.
int64_t StackReader::number_of_old(int64_t id, std::string_view folded) {
  if (old_numbers_.size() >= kRemembered) old_numbers_.clear();
  const auto [place, is_new] = old_numbers_.try_emplace(id);
  if (is_new) {
    const int64_t node = texts_.find(folded);
    place->second = node != 0 ? node : -id;
  }
  return place->second;
}

}  // namespace atalaya::store
