// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

// Assigns the ids of new entities. Entities of a host have separate blocks of ids (block.h), so that a batch of one host
// changes no row of another one. An id must be inserted, in the same transaction, before the next one is requested.
class EntityIds {
 public:
  explicit EntityIds(Database &database);

  int64_t next(std::string_view host);  // host "": the entity has no host
  // Call it after a rollback. The remaining ids of each started block stay unused.
  void forget() { hosts_.clear(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  Statement last_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> hosts_;  // the last id of each host
};

}  // namespace atalaya::store
