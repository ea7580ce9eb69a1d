// SPDX-License-Identifier: Apache-2.0
// A selection as conditions of SQL. They pass all wanted rows, and may pass more: the reader of the answer applies the
// patterns themselves, which are on bytes and have the same meaning everywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/clickhouse/wire/sql.h"
#include "plugins/shared/store/store.h"

namespace atalaya::store::clickhouse {

// " AND ..." for each thing that the server can decide; the order is that of the patterns.
Sql text_conditions(const Sql &column, const std::vector<std::string> &patterns);
Sql tag_conditions(const std::vector<TagFilter> &filters);
// On the partitions of the range: of a column `day` that holds the day of a time.
Sql day_conditions(const Range &range);

constexpr int64_t kDayNs = 86'400'000'000'000;
constexpr int64_t kDays = 47'482;  // of the type Date, from 1970 to the end of 2099
// "2023-11-14" between quotes.
std::string day_literal(int64_t day);

}  // namespace atalaya::store::clickhouse
