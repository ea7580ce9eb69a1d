// SPDX-License-Identifier: Apache-2.0
// The reading side of a ClickHouse database.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/store/clickhouse/client.h"
#include "plugins/store/store.h"

namespace atalaya::store::clickhouse {

class ClickHouseStore final : public Store {
 public:
  // Connects. Throws Error when there is no store, or one that this program cannot read. No question takes longer than `patience`.
  ClickHouseStore(Location location, std::chrono::nanoseconds patience);

  std::string name() const override { return client_.name(); }
  std::vector<std::string> metrics() override;
  std::vector<std::string> tag_keys() override;
  std::vector<std::string> tag_values(std::string_view key) override;
  std::vector<Series> series(const Selection &selection, size_t limit) override;
  void scan(std::span<const Series> series, const Range &range, PointVisitor &visitor) override;
  void stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor) override;
  void spans(const Selection &selection, const std::function<void(const Span &)> &visitor) override;

 private:
  std::vector<std::string> texts(const Query &query);

  Client client_;
};

}  // namespace atalaya::store::clickhouse
