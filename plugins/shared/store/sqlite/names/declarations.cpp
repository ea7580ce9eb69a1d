// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/names/declarations.h"

namespace atalaya::store {

MetricInfo info_of(const Row &row, int first) {
  MetricInfo info;
  info.kind = kind_of(row.text(first));
  info.unit = row.text(first + 1);
  if (row.type(first + 2) != SQLITE_NULL) info.decimals = static_cast<int32_t>(row.integer(first + 2));
  info.summary = row.text(first + 3);
  return info;
}

std::map<int64_t, StoredMetric> stored_metrics(Database &database) {
  std::map<int64_t, StoredMetric> metrics;
  Statement(database, "SELECT id, name, kind, unit, decimals, summary FROM metrics").each([&](const Row &row) {
    metrics[row.integer(0)] = {std::string(row.text(1)), std::make_shared<const MetricInfo>(info_of(row, 2))};
  });
  return metrics;
}

}  // namespace atalaya::store
