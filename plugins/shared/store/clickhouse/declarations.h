// SPDX-License-Identifier: Apache-2.0
// The table `metrics`: declarations.
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

// The declarations that the database does not have yet, as rows.
class Declarations {
 public:
  // If `metric_of` is null, the table gets no declarations.
  Declarations(core::NameOf name_of, MetricOf metric_of, Warn warn);

  // Reads the declarations of the database, those of other agents too. After an error call it again.
  void load(Client &client);
  // The rows for kMetricsColumns of metrics that these samples bring for the first time. Undeclared metrics are looked up again at
  // most once a minute.
  std::string rows_for(std::span<const atalaya_sample> samples, int64_t now_ns);
  // Metrics that are declared differently than in the database: the first declaration wins.
  uint64_t conflicts() const { return conflicts_.size(); }

 private:
  // False: nobody declared the metric.
  bool add(uint32_t name, int64_t now_ns, std::string &rows);

  core::NameOf name_of_;
  MetricOf metric_of_;
  Warn warn_;
  Catalogue known_;
  std::vector<bool> seen_;  // by name id
  std::vector<uint32_t> undeclared_;
  int64_t checked_ns_ = 0;
  std::unordered_set<std::string> conflicts_;
};

}  // namespace atalaya::store::clickhouse
