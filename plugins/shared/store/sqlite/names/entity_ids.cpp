// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/names/entity_ids.h"

#include "plugins/shared/store/sqlite/rows/block.h"

namespace atalaya::store {
namespace {

constexpr size_t kMaxHosts = 100'000;

}  // namespace

// SQLite's counter has the largest id of all that were ever inserted, by any writer.
EntityIds::EntityIds(Database &database) : last_(database, "SELECT seq FROM sqlite_sequence WHERE name = 'entity_rows'") {}

int64_t EntityIds::next(std::string_view host) {
  const auto found = hosts_.find(host);
  if (found != hosts_.end() && block_of(found->second + 1) == block_of(found->second)) return ++found->second;
  const auto last = last_.number();
  const int64_t first = last ? (block_of(*last) + 1) << kBlockBits : 1;
  if (found != hosts_.end()) return found->second = first;
  if (hosts_.size() >= kMaxHosts) hosts_.clear();
  return hosts_.emplace(host, first).first->second;
}

}  // namespace atalaya::store
