// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

// The ids of new entities. Those of a host lie in blocks of its own (block.h), whatever other hosts add between them: a batch of
// one host changes no row of another one. An id is inserted, in the same transaction, before the next one is asked for.
class EntityIds {
 public:
  explicit EntityIds(Database &database);

  int64_t next(std::string_view host);  // "": none
  // After a rollback. The rest of each begun block stays unused.
  void forget() { hosts_.clear(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  Statement last_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> hosts_;  // the last id of each
};

}  // namespace atalaya::store
