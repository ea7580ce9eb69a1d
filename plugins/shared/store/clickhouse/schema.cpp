// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/clickhouse/schema.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace atalaya::store::clickhouse {
namespace {

using Columns = std::vector<std::pair<const char *, const char *>>;
struct Table {
  const char *name;
  Columns columns;        // as in system.columns
  const char *order;      // of rows with equal values of these the last one is kept
  const char *version;    // "last": the highest of this column
  const char *partition;  // "": none
  const char *shard;      // rows with an equal value are on one shard of a cluster
};

const std::vector<Table> &tables() {
  static const std::vector<Table> all = {
      {"series",
       {{"day", "Date"},
        {"metric", "String"},
        {"entity", "UInt64"},
        {"tags.key", "Array(String)"},
        {"tags.value", "Array(String)"}},
       "metric, entity",
       "",
       "day",
       "entity"},
      // The first declaration of a metric wins: its version is the highest.
      {"metrics",
       {{"metric", "String"},
        {"kind", "String"},
        {"unit", "String"},
        {"decimals", "Int32"},
        {"summary", "String"},
        {"version", "UInt64"}},
       "metric",
       "version",
       "",
       "cityHash64(metric)"},
      {"points",
       {{"day", "Date"},
        {"metric", "String"},
        {"entity", "UInt64"},
        {"time_ns", "Int64"},
        {"duration_ns", "Int64"},
        {"value", "Float64"},
        {"count", "Int64"},
        {"is_count", "UInt8"},
        {"version", "UInt64"}},
       "metric, entity, time_ns",
       "version",
       "day",
       "entity"},
      {"stacks",
       {{"day", "Date"},
        {"entity", "UInt64"},
        {"stack", "UInt64"},
        {"time_ns", "Int64"},
        {"duration_ns", "Int64"},
        {"tags.key", "Array(String)"},
        {"tags.value", "Array(String)"},
        {"folded", "String"},
        {"fields.name", "Array(String)"},
        {"fields.value", "Array(Float64)"},
        {"fields.count", "Array(Int64)"},
        {"fields.is_count", "Array(UInt8)"},
        {"version", "UInt64"}},
       "entity, stack, time_ns",
       "version",
       "day",
       "entity"},
      {"spans",
       {{"day", "Date"},
        {"start_ns", "Int64"},
        {"entity", "UInt64"},
        {"name", "String"},
        {"duration_ns", "Int64"},
        {"tags.key", "Array(String)"},
        {"tags.value", "Array(String)"},
        {"fields.name", "Array(String)"},
        {"fields.value", "Array(Float64)"},
        {"fields.count", "Array(Int64)"},
        {"fields.is_count", "Array(UInt8)"},
        {"version", "UInt64"}},
       "start_ns, entity, name",
       "version",
       "day",
       "entity"},
  };
  return all;
}

constexpr const char *kVersionView = "atalaya_schema";

// The existing tables with our names: columns by table, with their types.
using Found = std::map<std::string, std::map<std::string, std::string>, std::less<>>;

Found find_tables(Client &client) {
  Sql from("system.columns WHERE database = ");
  from.bind(client.database()) << " AND table IN ('series', 'metrics', 'points', 'stacks', 'spans', 'atalaya_schema')";
  Found found;
  client.select({{{"table", "table_name", Type::text}, {"name", "column_name", Type::text}, {"type", "column_type", Type::text}},
                 from,
                 "table_name, column_name"},
                [&](const std::vector<Cell> &row) {
                  found[std::string(row[1].text)].emplace(row[2].text, row[3].text);
                  return true;
                });
  return found;
}

// "Distributed(pair, ..." of newer servers, "Distributed('pair', ..." of both.
bool is_of(const std::string &cluster, std::string_view made_as) {
  made_as.remove_prefix(std::min(made_as.size(), std::string_view("Distributed(").size()));
  if (made_as.starts_with('\'')) made_as.remove_prefix(1);
  if (!made_as.starts_with(cluster)) return false;
  made_as.remove_prefix(cluster.size());
  return made_as.starts_with('\'') || made_as.starts_with(',');
}

void check_columns(const Client &client, const Found &found) {
  for (const Table &table : tables()) {
    const auto there = found.find(table.name);
    if (there == found.end()) continue;
    for (const auto &[column, type] : table.columns) {
      const auto has = there->second.find(column);
      if (has == there->second.end() || has->second != type)
        throw Error(Cause::config, client.name() + " holds a table \"" + table.name + "\" that is not atalaya's: its column " +
                                       column +
                                       (has == there->second.end() ? " is missing" : " is " + has->second + " and not " + type) +
                                       "; use another database");
    }
  }
}

// A sink that says another cluster than the one the tables were made for would write to one server what belongs to all, or the
// reverse.
void check_engines(Client &client, const std::string &cluster) {
  Sql from("system.tables WHERE database = ");
  from.bind(client.database()) << " AND name IN ('series', 'metrics', 'points', 'stacks', 'spans')";
  client.select({{{"name", "table_name", Type::text}, {"engine_full", "made_as", Type::text}}, from, "table_name"},
                [&](const std::vector<Cell> &row) {
                  const bool spread = row[2].text.starts_with("Distributed");
                  if (spread == !cluster.empty() && (!spread || is_of(cluster, row[2].text))) return true;
                  throw Error(Cause::config, client.name() + " holds a table \"" + std::string(row[1].text) + "\" " +
                                                 (spread ? "of a cluster: " + std::string(row[2].text) : "of one server") +
                                                 (cluster.empty() ? ", and the sink names no cluster"
                                                                  : ", and the sink names the cluster \"" + cluster + "\"") +
                                                 "; write `cluster` as the tables were made, or use another database");
                });
}

bool has_all(const Found &found) {
  return std::all_of(tables().begin(), tables().end(), [&](const Table &table) { return found.contains(table.name); });
}

// The version of the schema; nothing when there is none.
std::optional<int64_t> version_of(Client &client, const Found &found) {
  if (!found.contains(kVersionView)) return std::nullopt;
  int64_t version = 0;
  client.select({{{"toInt64(version)", "schema_version", Type::i64}}, kVersionView, "schema_version"},
                [&](const std::vector<Cell> &row) { return version = row[1].integer(), true; });
  if (version > kSchemaVersion)
    throw Error(Cause::config, client.name() + " has the schema version " + std::to_string(version) + ", this program knows " +
                                   std::to_string(kSchemaVersion) + "; install the newer atalaya");
  if (version < kSchemaVersion)
    throw Error(Cause::config, client.name() + " was made by an older version of atalaya (schema " + std::to_string(version) +
                                   ", this program reads " + std::to_string(kSchemaVersion) +
                                   "); rename that database, and create an empty one in its place");
  return version;
}

Sql create(const std::string &database, const Table &table, const std::string &suffix, const std::string &cluster) {
  Sql sql("CREATE TABLE IF NOT EXISTS ");
  sql << database.c_str() << "." << table.name << suffix.c_str() << (cluster.empty() ? "" : " ON CLUSTER ") << cluster.c_str();
  const char *separator = " (";
  for (const auto &[column, type] : table.columns) sql << std::exchange(separator, ", ") << "`" << column << "` " << type;
  return sql << ") ENGINE = ";
}

Sql replacing(const Table &table, const std::string &arguments) {
  const bool both = !arguments.empty() && *table.version != 0;
  Sql sql(arguments.empty() ? "ReplacingMergeTree(" : "ReplicatedReplacingMergeTree(");
  sql << arguments.c_str() << (both ? ", " : "") << table.version << ")";
  if (*table.partition != 0) sql << " PARTITION BY " << table.partition;
  return sql << " ORDER BY (" << table.order << ")";
}

void create_table(Client &client, const Table &table, const std::string &cluster) {
  const std::string &database = client.database();
  if (cluster.empty()) return client.execute(create(database, table, "", "") << replacing(table, ""));
  const std::string place = "'/clickhouse/tables/" + database + "/{shard}/" + table.name + "', '{replica}'";
  client.execute_on_cluster(create(database, table, "_local", cluster) << replacing(table, place));
  // Rows that replace each other are on one shard.
  client.execute_on_cluster(create(database, table, "", cluster) << "Distributed('" << cluster.c_str() << "', '" << database.c_str()
                                                                 << "', '" << table.name << "_local', " << table.shard << ")");
}

}  // namespace

void prepare_for_writing(Client &client, const std::string &cluster) {
  const Found found = find_tables(client);
  check_columns(client, found);
  check_engines(client, cluster);
  if (version_of(client, found) == kSchemaVersion && has_all(found)) return;
  // Only these: the servers of a cluster do one after the other, and a slow one is not helped by more.
  for (const Table &table : tables())
    if (!found.contains(table.name)) create_table(client, table, cluster);
  // Last: where it is, the rest is.
  Sql view("CREATE VIEW IF NOT EXISTS ");
  view << client.database().c_str() << "." << kVersionView << (cluster.empty() ? "" : " ON CLUSTER ") << cluster.c_str()
       << " AS SELECT toUInt32(" << kSchemaVersion << ") AS version";
  if (cluster.empty()) {
    client.execute(view);
  } else {
    client.execute_on_cluster(view);
  }
}

void check_for_reading(Client &client) {
  const Found found = find_tables(client);
  check_columns(client, found);
  if (!version_of(client, found))
    throw Error(Cause::config, client.name() + " is empty; run a pipeline with the sink \"clickhouse\" first");
}

}  // namespace atalaya::store::clickhouse
