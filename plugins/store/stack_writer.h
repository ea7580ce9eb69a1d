// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "plugins/store/fields.h"
#include "plugins/store/sqlite.h"

namespace atalaya::store {

// Puts stacks into the table `stacks`: a row for each window, entity and field holds the numbers of all its stacks. Calls lie in a
// transaction; what was added is written by `flush`.
class StackWriter {
 public:
  explicit StackWriter(Database &database);

  // `fields`: as in a row of `samples`. False: there is none.
  bool add(int64_t window, int64_t entity, int64_t stack, std::string_view fields);
  void remove(int64_t window, int64_t entity, int64_t stack);
  void flush();
  // After a rollback.
  void forget() { rows_.clear(); }

 private:
  struct Key {
    int64_t window = 0, entity = 0, field = 0;
    bool operator<(const Key &other) const {
      return std::tie(window, entity, field) < std::tie(other.window, other.entity, other.field);
    }
  };
  using Numbers = std::vector<std::pair<int64_t, Number>>;  // by stack; of equal ones the last counts

  void render(Numbers &numbers);

  Statement put_, remove_;
  std::map<Key, Numbers> rows_;
  std::string text_;
};

}  // namespace atalaya::store
