// SPDX-License-Identifier: Apache-2.0
// The tables: docs/how-to/clickhouse.md.
#pragma once

#include <string>

#include "plugins/shared/store/clickhouse/client.h"

namespace atalaya::store::clickhouse {

constexpr int64_t kSchemaVersion = 1;

// What INSERT INTO takes, in the order in which the writer writes a row.
constexpr const char *kSeriesColumns = "series (day, metric, entity, tags.key, tags.value)";
constexpr const char *kPointsColumns = "points (day, metric, entity, time_ns, duration_ns, value, count, is_count, version)";
constexpr const char *kStacksColumns =
    "stacks (day, entity, stack, time_ns, duration_ns, tags.key, tags.value, folded, fields.name, fields.value, fields.count, "
    "fields.is_count, version)";
constexpr const char *kSpansColumns =
    "spans (day, start_ns, entity, name, duration_ns, tags.key, tags.value, fields.name, fields.value, fields.count, "
    "fields.is_count, version)";

// Makes what is missing; on all servers of the cluster, if one is named. Throws Error (config) where other tables are in the way.
void prepare_for_writing(Client &client, const std::string &cluster);
// Throws Error (config) where there is no store that this program can read.
void check_for_reading(Client &client);

}  // namespace atalaya::store::clickhouse
