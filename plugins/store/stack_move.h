// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/store/sqlite.h"
#include "plugins/store/stack_tree.h"
#include "plugins/store/stack_writer.h"

namespace atalaya::store {

// Until schema 3 a stack was a text of its own. Brings the stacks of such a store into the tree, in bounded steps while the agent
// works; what is not there yet is read from where it was.
class StackMove {
 public:
  StackMove(Database &database, StackTree &tree, StackWriter &writer);

  bool is_done() const { return !statements_.has_value(); }
  // Moves at most so many stacks.
  void step(int64_t work, int64_t now_ns);
  // Moves those of one window. Lies in a transaction.
  void window(int64_t window, int64_t now_ns);

 private:
  struct Statements {
    explicit Statements(Database &database);
    Statement find, find_in_window, remove, remove_window, remove_texts;
  };

  void put(const Row &row, int64_t now_ns);

  Database &database_;
  StackTree &tree_;
  StackWriter &writer_;
  std::optional<Statements> statements_;
  int64_t last_window_ = 0;  // later ones have none
};

}  // namespace atalaya::store
