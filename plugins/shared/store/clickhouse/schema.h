// SPDX-License-Identifier: Apache-2.0
// The tables of the database: docs/how-to/clickhouse.md.
#pragma once

#include <string>

#include "plugins/shared/store/clickhouse/wire/client.h"

namespace atalaya::store::clickhouse {

constexpr int64_t kSchemaVersion = 2;

// Tables and columns for INSERT INTO, in the order of the writer's rows.
constexpr const char *kSeriesColumns = "series (day, metric, entity, tags.key, tags.value)";
constexpr const char *kMetricsColumns = "metrics (metric, kind, unit, decimals, summary, version)";
constexpr const char *kPointsColumns = "points (day, metric, entity, time_ns, duration_ns, value, count, is_count, version)";
constexpr const char *kStacksColumns =
    "stacks (day, entity, stack, time_ns, duration_ns, tags.key, tags.value, folded, fields.name, fields.value, fields.count, "
    "fields.is_count, version)";
constexpr const char *kSpansColumns =
    "spans (day, start_ns, entity, name, duration_ns, tags.key, tags.value, fields.name, fields.value, fields.count, "
    "fields.is_count, version)";

// Creates missing tables; on all servers of the cluster, if one is named. Throws Error (config) if tables of another program have
// their names.
void prepare_for_writing(Client &client, const std::string &cluster);
// Throws Error (config) if there is no store that this program can read.
void check_for_reading(Client &client);

}  // namespace atalaya::store::clickhouse
