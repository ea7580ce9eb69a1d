// SPDX-License-Identifier: Apache-2.0
// Writes the table `metrics`, which contains declarations.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/base/sample/name_cache.h"
#include "plugins/shared/store/catalogue.h"
#include "plugins/shared/store/clickhouse/wire/client.h"

namespace atalaya::store::clickhouse {

Catalogue read_catalogue(Client &client);

// Converts the declarations that the database does not have yet to rows.
class Declarations {
 public:
  // If `metric_of` is null, the table gets no declarations.
  Declarations(core::NameOf name_of, MetricOf metric_of, Warn warn);

  // Reads the declarations of the database, including those of other agents. After an error call it again.
  void load(Client &client);
  // Returns the rows for kMetricsColumns of metrics that these samples are the first to use. Undeclared metrics are searched
  // again at most once a minute.
  std::string rows_for(std::span<const atalaya_sample> samples, int64_t now_ns);
  // Number of metrics whose declaration differs from the one in the database, which remains valid.
  uint64_t conflicts() const { return conflicts_.size(); }

 private:
  // Appends the row of a metric. False: the metric has no declaration.
  bool add(uint32_t name, int64_t now_ns, std::string &rows);

  core::NameOf name_of_;
  MetricOf metric_of_;
  Warn warn_;
  Catalogue known_;
  std::vector<bool> seen_;  // by name id: the declaration was checked
  std::vector<uint32_t> undeclared_;
  int64_t checked_ns_ = 0;
  std::unordered_set<std::string> conflicts_;
};

}  // namespace atalaya::store::clickhouse
