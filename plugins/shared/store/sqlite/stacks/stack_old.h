// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plugins/shared/store/sqlite/database.h"
#include "plugins/shared/store/sqlite/stacks/stack_tree.h"
#include "plugins/shared/store/sqlite/stacks/stack_writer.h"

namespace atalaya::store {

// Until schema 3 a stack was a text of its own. Such stacks stay in the tables `old_stacks` and `old_stack_texts`, where they are
// read like others, until retention deletes them. Only a window that something is written to has its stacks put into the tree
// first: each window has all of them in one place, and what wins is decided there.
class OldStacks {
 public:
  OldStacks(Database &database, StackTree &tree, StackWriter &writer);

  // Lies in the transaction of what is written to the window.
  void move(int64_t window, int64_t now_ns);

 private:
  StackTree &tree_;
  StackWriter &writer_;
  Statement find_, remove_;
  int64_t last_window_;  // later ones have none
};

}  // namespace atalaya::store
