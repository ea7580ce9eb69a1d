// SPDX-License-Identifier: Apache-2.0
// Reads the embedded store.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/store/sqlite/file/damage.h"
#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store {

class SqliteStore final : public Store {
 public:
  // Throws if there is no store at the path, or a store that this program cannot read.
  explicit SqliteStore(const std::string &path);

  std::string name() const override { return "sqlite:" + database_.path(); }
  std::vector<std::string> metrics() override;
  Catalogue catalogue() override;
  std::vector<std::string> tag_keys() override;
  std::vector<std::string> tag_values(std::string_view key) override;
  std::optional<Range> extent(int64_t until_ns) override;
  std::vector<CollectedRow> collected(const Range &range) override;
  std::vector<Series> series(const Selection &selection, size_t limit) override;
  void scan(std::span<const Series> series, const Range &range, PointVisitor &visitor) override;
  std::string take_damage() override { return damage_.take(database_.path()); }
  void whole_stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor) override;
  void spans(const Selection &selection, const std::function<void(const Span &)> &visitor) override;

 private:
  Database database_;
  Damage damage_;
};

}  // namespace atalaya::store
