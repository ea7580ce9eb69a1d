// SPDX-License-Identifier: Apache-2.0
// Conditions of SQL for a selection. All selected rows fulfil them, but other rows may too: the reader of the answer applies
// the patterns, which are on bytes and have the same meaning everywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/clickhouse/wire/sql.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store::clickhouse {

// Returns " AND ..." for each pattern that the server can evaluate, in the order of the patterns.
Sql text_conditions(const Sql &column, const std::vector<std::string> &patterns);
Sql tag_conditions(const std::vector<TagFilter> &filters);
// Conditions on the partitions of the range: on a column `day`, which contains the day of a time.
Sql day_conditions(const Range &range);

constexpr int64_t kDayNs = 86'400'000'000'000;
constexpr int64_t kDays = 47'482;  // days of the type Date, from 1970 to the end of 2099
// Returns the day in quotes: "2023-11-14".
std::string day_literal(int64_t day);

}  // namespace atalaya::store::clickhouse
