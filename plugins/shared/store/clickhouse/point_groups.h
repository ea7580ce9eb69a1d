// SPDX-License-Identifier: Apache-2.0
// Rows of points as runs of one series for a visitor.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/shared/store/clickhouse/wire/row_binary.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store::clickhouse {

// The contents of one statement: some entities of one metric, and the places of their series.
struct PointQuestion {
  std::string metric;
  std::unordered_map<uint64_t, size_t> places;
};
// The questions that all of the series make, none too long for a statement.
void each_question(std::span<const Series> series, const std::function<void(const PointQuestion &)> &ask);

class PointGroups {
 public:
  PointGroups(const PointQuestion &question, PointVisitor &visitor) : question_(question), visitor_(visitor) {}
  // number, at, lasts, counted, amount, exactly; in this order behind the first cell.
  void add(const std::vector<Cell> &row);
  void hand_over();

 private:
  const PointQuestion &question_;
  PointVisitor &visitor_;
  uint64_t entity_ = 0;
  bool counts_ = false;
  std::vector<int64_t> times_ns_, durations_ns_, exact_;
  std::vector<double> values_;
};

}  // namespace atalaya::store::clickhouse
