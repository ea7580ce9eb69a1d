// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/sqlite_store.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/sample/span_end.h"
#include "plugins/shared/store/location.h"
#include "plugins/shared/store/sqlite/file/schema.h"
#include "plugins/shared/store/sqlite/names/declarations.h"
#include "plugins/shared/store/sqlite/names/entities.h"
#include "plugins/shared/store/sqlite/rows/fields.h"
#include "plugins/shared/store/sqlite/scan.h"
#include "plugins/shared/store/sqlite/stacks/stack_reader.h"
#include "plugins/shared/store/stack_parts.h"

namespace atalaya::store {
namespace {

Database open_for_reading(const std::string &path) {
  Database database(path, Access::read_only);
  // Neighbours in a page are chunks of other entities: a page that leaves the cache is read again for each of them.
  database.execute("PRAGMA cache_size = -16384");
  check_is_store(database);
  const int64_t version = database.number("PRAGMA user_version");
  if (version == 0) throw Error(Cause::config, "database " + path + " is empty; run a pipeline with the sink \"sqlite\" first");
  return database;
}

using Metrics = std::map<int64_t, StoredMetric>;

// The fields of a stack or a span.
class Fields {
 public:
  explicit Fields(Database &database) : metrics_(stored_metrics(database)) {}

  // Nothing: the text is damaged.
  std::optional<std::span<const Field>> read(std::string_view json) {
    fields_.clear();
    FieldReader reader(json);
    while (reader.next()) add(reader.metric(), reader.value());
    if (reader.damaged()) return std::nullopt;
    return fields_;
  }
  std::span<const Field> of(std::span<const StackReader::Value> values) {
    fields_.clear();
    for (const StackReader::Value &value : values) add(value.metric, value.number);
    return fields_;
  }

 private:
  void add(int64_t metric, const Number &value) {
    const auto known = metrics_.find(metric);
    if (known == metrics_.end()) return;
    fields_.push_back({known->second.name, value.is_count, value.as_real(), value.is_count ? value.count : 0});
  }

  Metrics metrics_;
  std::vector<Field> fields_;
};

// The wanted metrics of each shape.
std::map<int64_t, std::vector<int64_t>> shapes_with(Database &database, const Metrics &wanted) {
  std::map<int64_t, std::vector<int64_t>> shapes;
  Statement(database, "SELECT s.id, m.value FROM shapes s JOIN json_each(s.metrics) m").each([&](const Row &row) {
    if (wanted.contains(row.integer(1))) shapes[row.integer(0)].push_back(row.integer(1));
  });
  return shapes;
}

// A store of an older schema has one table for all tags.
bool has_tag_sets(Database &database) {
  return database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'tag_sets'") > 0;
}
std::string tags_table(Database &database) {
  return has_tag_sets(database) ? "tag_sets" : "entities";
}
std::string table_of(Database &database, std::string_view column) {
  return column == "pid" && has_tag_sets(database) ? "entity_rows" : tags_table(database);
}

}  // namespace

SqliteStore::SqliteStore(const std::string &path) : database_(open_for_reading(path)) {}

std::vector<std::string> SqliteStore::metrics() {
  std::vector<std::string> names;
  Statement(database_, "SELECT name FROM metrics ORDER BY name").each([&](const Row &row) { names.emplace_back(row.text(0)); });
  return names;
}

Catalogue SqliteStore::catalogue() {
  Catalogue all;
  for (const auto &[id, metric] : stored_metrics(database_)) all.emplace(metric.name, metric.info);
  return all;
}

std::vector<std::string> SqliteStore::tag_keys() {
  std::set<std::string> keys;
  const auto add = [&](const Row &row) { keys.emplace(row.text(0)); };
  Statement(database_, "SELECT DISTINCT j.key FROM " + tags_table(database_) + " e, json_each(e.tags) j").each(add);
  for (const std::string column : {"host", "pid", "process"})
    if (Statement(database_, "SELECT 1 FROM " + table_of(database_, column) + " WHERE " + column + " IS NOT NULL LIMIT 1").number())
      keys.emplace(column);
  return {keys.begin(), keys.end()};
}

std::vector<std::string> SqliteStore::tag_values(std::string_view key) {
  std::set<std::string> values;
  const auto add = [&](const Row &row) { values.emplace(row.text(0)); };
  if (key == "host" || key == "pid" || key == "process") {
    const std::string column(key);
    // In the order of an index each host comes once per process.
    const std::string columns = key == "host" ? "host, process" : column;
    Statement(database_,
              "SELECT DISTINCT " + columns + " FROM " + table_of(database_, column) + " WHERE " + column + " IS NOT NULL")
        .each(add);
  } else {
    Statement(database_, "SELECT DISTINCT j.value FROM " + tags_table(database_) + " e, json_each(e.tags) j WHERE j.key = ?1")
        .each(add, key);
  }
  return {values.begin(), values.end()};
}

// A packed window has no row unless it has stacks. An index holds the times of all chunks.
std::optional<Range> SqliteStore::extent(int64_t until_ns) {
  std::optional<Range> found;
  Statement(database_, "SELECT min(first_ns), max(last_ns) FROM (" +
                           select_windows("min(time_ns) AS first_ns, NULL AS last_ns", " AND time_ns <= ?1") + " UNION ALL " +
                           select_windows("NULL, max(time_ns)", " AND time_ns <= ?1") +
                           " UNION ALL SELECT min(first_ns), max(min(last_ns, ?1)) FROM chunks WHERE first_ns <= ?1 "
                           "UNION ALL SELECT min(first_ns), max(min(last_ns, ?1)) FROM rolled WHERE first_ns <= ?1)")
      .each(
          [&](const Row &row) {
            if (row.type(0) != SQLITE_NULL) found = Range{row.integer(0) - 1, row.integer(1)};
          },
          until_ns);
  return found;
}

// All of them: windows before and after the range show whether those without a sample were collected. Samples may have been deleted
// since.
std::vector<CollectedRow> SqliteStore::collected(const Range &) {
  const ReadTransaction transaction(database_);
  const int64_t newest_ns = newest_sample(database_);
  const auto first = extent(newest_ns);
  std::vector<CollectedRow> rows;
  if (!first) return rows;
  Statement(database_, select_collected(database_))
      .each(
          [&](const Row &row) {
            CollectedRow one{std::string(row.text(0)), std::string(row.text(1)), row.integer(2),
                             row.integer(3),           row.integer(4),           row.integer(5) != 0};
            if (one.end_ns <= first->from_ns) return;
            one.begin_ns = std::max(one.begin_ns, core::start_of(first->from_ns, kLongestHold));
            rows.push_back(std::move(one));
          },
          newest_ns);
  return rows;
}

std::vector<Series> SqliteStore::series(const Selection &selection, size_t limit) {
  const ReadTransaction transaction(database_);
  const io::MatcherList metrics = matchers_of(selection.metrics);
  Metrics wanted = stored_metrics(database_);
  std::erase_if(wanted, [&](const auto &metric) { return !metrics.matches(metric.second.name); });
  const auto shapes = shapes_with(database_, wanted);

  // Entity after entity, so that a limit ends it before there is much in memory.
  std::vector<Series> result;
  std::set<int64_t> found;  // metrics of one entity
  Statement shapes_of(database_, "SELECT shape FROM entity_shapes WHERE entity = ?1");
  const auto has_some = [&](int64_t entity) {
    found.clear();
    const auto add = [&](const Row &row) {
      if (const auto shape = shapes.find(row.integer(0)); shape != shapes.end())
        found.insert(shape->second.begin(), shape->second.end());
    };
    shapes_of.each(add, entity);
    return !found.empty();
  };
  const auto take = [&](int64_t id, const Entity &entity) {
    for (const int64_t metric : found)
      if (result.size() < limit) result.push_back({id, metric, wanted.at(metric).name, entity.tags, wanted.at(metric).info});
    return result.size() < limit;
  };
  for_each_with_metrics(database_, selection, has_some, take);
  std::sort(result.begin(), result.end(),
            [](const Series &a, const Series &b) { return std::tie(a.metric, a.tags) < std::tie(b.metric, b.tags); });
  return result;
}

void SqliteStore::scan(std::span<const Series> series, const Range &range, PointVisitor &visitor) {
  const ReadTransaction transaction(database_);
  Scan(database_, series, range, visitor, damage_).run();
}

void SqliteStore::whole_stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor) {
  const ReadTransaction transaction(database_);
  Selection ending = selection;
  ending.range = window_ends(selection.range);
  const Entities entities = find_entities(database_, ending);
  Fields fields(database_);
  StackReader reader(database_);
  const auto wanted = [&](int64_t entity) { return entities.contains(entity); };
  // A statement for each window, so that the first stack comes at once, however long the range is.
  const std::string overlap = " AND time_ns > ?1 AND time_ns <= ?2 AND (time_ns <= ?3 OR time_ns - duration_ns < ?3)";
  Statement(database_, select_windows("id, time_ns, duration_ns", overlap) + " ORDER BY time_ns, id")
      .each(
          [&](const Row &row) {
            const bool good = reader.read(row.integer(0), wanted, [&](const StackReader::Found &found) {
              const auto entity = entities.find(found.entity);
              visitor({row.integer(1), row.integer(2), entity->first, found.number, entity->second.tags, found.folded,
                       fields.of(found.values)});
            });
            if (!good) damage_.add("stacks", row.integer(0));
          },
          ending.range.from_ns, ending.range.to_ns, selection.range.to_ns);
}

// Span after span, each with its entity: those of jobs are millions, and an entity has few of them.
void SqliteStore::spans(const Selection &selection, const std::function<void(const Span &)> &visitor) {
  const ReadTransaction transaction(database_);
  const io::MatcherList names = matchers_of(selection.metrics);
  const TagMatchers tags(selection.tags);
  Fields fields(database_);
  EntityTags entity_tags(database_);
  const std::string overlap =
      "SELECT s.start_ns, s.duration_ns, s.entity, s.name, s.fields, e.host, e.pid, e.process, e.tags "
      "FROM spans s CROSS JOIN entities e ON e.id = s.entity WHERE s.start_ns <= ?2 "
      "AND iif(s.duration_ns = -1, 9223372036854775807, s.start_ns + s.duration_ns) > ?1 ";
  const auto texts = exact_texts(selection.metrics);
  Statement(database_, overlap + (texts ? "AND s.name IN (SELECT value FROM json_each(?3)) " : "AND ?3 IS NULL ") +
                           "ORDER BY s.start_ns, s.entity, s.name")
      .each(
          [&](const Row &row) {
            if (!names.matches(row.text(3))) return;
            const Tags &its = entity_tags.read(row, 5);
            if (!tags.accept(its)) return;
            const auto values = fields.read(row.text(4));
            if (!values) return damage_.add("spans", row.integer(0));
            visitor({row.integer(0), row.integer(1), row.integer(2), its, row.text(3), *values});
          },
          selection.range.from_ns, selection.range.to_ns, texts);
}

}  // namespace atalaya::store
