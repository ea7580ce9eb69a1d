// SPDX-License-Identifier: Apache-2.0
// The table `metrics`, which has names and declarations.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "plugins/shared/store/catalogue.h"
#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

// Reads the columns kind, unit, decimals and summary; `first` is the column kind.
MetricInfo info_of(const Row &row, int first);

struct StoredMetric {
  std::string name;
  std::shared_ptr<const MetricInfo> info;
};
// Returns the stored metrics by id.
std::map<int64_t, StoredMetric> stored_metrics(Database &database);

}  // namespace atalaya::store
