// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/shared/store/sqlite/dictionary.h"
#include "plugins/shared/store/sqlite/database.h"

namespace atalaya::store {

// Until schema 4 a row held the sample of one entity. Such rows stay in the table `old_samples`, where they are read like others,
// until their window is packed, written to or deleted: only then are they put into blocks, window by window.
//
// A store of schema 1 did not list the metrics of an entity either. Those entities have the shape 0, which holds all metrics; what
// they really have is listed when their rows move, and after the last of them that shape goes.
class OldRows {
 public:
  OldRows(Database &database, Dictionary &dictionary);

  // Lies in the transaction of what is done to the window. False: damaged rows stay where they are.
  bool move(int64_t window);
  // After a rollback: what was done is to be done again.
  void forget() { is_listing_ = was_listing_; }

 private:
  struct OldRow {
    int64_t entity = 0;
    std::string fields;
  };
  void read(int64_t window);
  void end_listing();

  Dictionary &dictionary_;
  Statement find_, add_, remove_, any_, end_lists_, end_shape_;
  int64_t last_window_;            // later ones have none
  bool was_listing_, is_listing_;  // there were, and are, entities with the shape 0
  bool are_good_ = true;
  std::vector<OldRow> rows_;
  std::string text_, shape_;
};

}  // namespace atalaya::store
