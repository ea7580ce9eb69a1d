// SPDX-License-Identifier: Apache-2.0
// The reading side of a ClickHouse database.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/clickhouse/point_groups.h"
#include "plugins/shared/store/clickhouse/wire/client.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store::clickhouse {

class ClickHouseStore final : public Store {
 public:
  // Connects. Throws Error if there is no store, or a store that this program cannot read. No query takes longer than
  // `response_timeout`.
  ClickHouseStore(Location location, std::chrono::nanoseconds response_timeout);

  std::string name() const override { return client_.name(); }
  std::vector<std::string> metrics() override;
  Catalogue catalogue() override;
  std::vector<std::string> tag_keys() override;
  std::vector<std::string> tag_values(std::string_view key) override;
  std::optional<Range> extent(int64_t until_ns) override;
  std::vector<CollectedRow> collected(const Range &range) override;
  std::vector<Series> series(const Selection &selection, size_t limit) override;
  void scan(std::span<const Series> series, const Range &range, PointVisitor &visitor) override;
  void whole_stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor) override;
  void spans(const Selection &selection, const std::function<void(const Span &)> &visitor) override;

 private:
  // The first and the last time of a day.
  struct DayRange {
    int64_t first_ns, last_ns;
  };
  struct SpanQuestion;
  std::vector<std::string> texts(const Query &query);
  std::optional<Range> days_extent(const Range &range, const char *order);
  void scan_points(const PointQuestion &question, const Sql &from, PointVisitor &visitor);
  void scan_integrals(const PointQuestion &question, const Range &range, const Steps &steps, PointVisitor &visitor);
  void scan_steps(const PointQuestion &question, Sql from, const Steps &steps, PointVisitor &visitor);
  // The range of start times of spans that may match.
  std::vector<DayRange> span_starts(const Selection &selection);
  void started_spans(std::span<const DayRange> days, const SpanQuestion &question,
                     const std::function<void(const Span &)> &visitor);

  Client client_;
};

}  // namespace atalaya::store::clickhouse
