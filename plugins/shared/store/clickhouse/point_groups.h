// SPDX-License-Identifier: Apache-2.0
// Converts rows of points to runs of one series, for a visitor.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/shared/store/clickhouse/wire/row_binary.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store::clickhouse {

// The contents of one statement: some entities of one metric, and the indices of their series.
struct PointQuestion {
  std::string metric;
  std::unordered_map<uint64_t, size_t> places;
};
// Calls the function with the questions that read all of the series. No question is too long for a statement.
void for_each_question(std::span<const Series> series, const std::function<void(const PointQuestion &)> &ask);

class PointGroups {
 public:
  PointGroups(const PointQuestion &question, PointVisitor &visitor) : question_(question), visitor_(visitor) {}
  // Adds a row. Its cells after the first one are number, at, lasts, counted, amount, exactly.
  void add(const std::vector<Cell> &row);
  void deliver();

 private:
  const PointQuestion &question_;
  PointVisitor &visitor_;
  uint64_t entity_ = 0;
  bool counts_ = false;
  std::vector<int64_t> times_ns_, durations_ns_, exact_;
  std::vector<double> values_;
};

}  // namespace atalaya::store::clickhouse
