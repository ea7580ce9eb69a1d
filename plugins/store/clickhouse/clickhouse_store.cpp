// SPDX-License-Identifier: Apache-2.0
#include "plugins/store/clickhouse/clickhouse_store.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "plugins/store/clickhouse/conditions.h"
#include "plugins/store/clickhouse/point_groups.h"
#include "plugins/store/clickhouse/schema.h"
#include "plugins/store/selection.h"

namespace atalaya::store::clickhouse {
namespace {

// A server may work for long before the first row comes, and nobody looks at a clock until then.
ClientOptions reading(Location location, std::chrono::nanoseconds patience) {
  constexpr std::chrono::seconds kConnect{10};
  return {std::move(location), patience, patience, "none", kConnect, patience};
}

Tags tags_of(const Cell &keys, const Cell &values) {
  Tags tags;
  const size_t count = std::min(keys.texts.size(), values.texts.size());
  for (size_t i = 0; i < count; ++i) tags.emplace(keys.texts[i], values.texts[i]);
  return tags;
}

// The four columns of `fields`, the first at `row`.
void read_fields(const Cell *row, std::vector<Field> &fields) {
  fields.clear();
  const Cell &names = row[0];
  fields.reserve(names.texts.size());
  for (size_t i = 0; i < names.texts.size(); ++i) {
    if (i >= row[1].numbers.size() || i >= row[2].numbers.size() || i >= row[3].numbers.size()) return;
    fields.push_back(
        {names.texts[i], row[3].numbers[i] != 0, Cell::real_of(row[1].numbers[i]), static_cast<int64_t>(row[2].numbers[i])});
  }
}

// The range (from, to] of a column with times.
Sql time_conditions(const Range &range) {
  Sql sql(" AND time_ns > ");
  return sql << range.from_ns << " AND time_ns <= " << range.to_ns;
}

bool overlaps(int64_t start_ns, int64_t duration_ns, const Range &range) {
  int64_t end = 0;
  if (duration_ns < 0 || __builtin_add_overflow(start_ns, duration_ns, &end)) return true;
  return end > range.from_ns;
}

}  // namespace

ClickHouseStore::ClickHouseStore(Location location, std::chrono::nanoseconds patience)
    : client_(reading(std::move(location), patience)) {
  client_.connect();
  check_for_reading(client_);
}

std::vector<std::string> ClickHouseStore::texts(const Query &query) {
  std::vector<std::string> found;
  client_.select(query, [&](const std::vector<Cell> &row) { return found.emplace_back(row[1].text), true; });
  return found;
}

std::vector<std::string> ClickHouseStore::metrics() {
  return texts({{{"metric", "name", Type::text}}, "(SELECT DISTINCT metric FROM series WHERE metric != '')", "name"});
}

std::vector<std::string> ClickHouseStore::tag_keys() {
  return texts({{{"key", "name", Type::text}}, "(SELECT DISTINCT arrayJoin(tags.key) AS key FROM series)", "name"});
}

std::vector<std::string> ClickHouseStore::tag_values(std::string_view key) {
  Sql from("(SELECT DISTINCT tags.value[indexOf(tags.key, ");
  from.bind(key) << ")] AS value FROM series WHERE has(tags.key, ";
  from.bind(key) << "))";
  return texts({{{"value", "name", Type::text}}, from, "name"});
}

std::vector<Series> ClickHouseStore::series(const Selection &selection, size_t limit) {
  const core::MatcherList metrics = matchers_of(selection.metrics);
  const TagMatchers tags(selection.tags);
  Sql from("series WHERE metric != ''");
  from << day_conditions(selection.range) << text_conditions("metric", selection.metrics) << tag_conditions(selection.tags)
       << " GROUP BY metric, entity";
  std::vector<Series> found;
  std::map<std::string, int64_t, std::less<>> numbers;  // of metrics, in this answer
  if (limit == 0) return found;
  client_.select({{{"metric", "name", Type::text},
                   {"entity", "number", Type::u64},
                   {"any(tags.key)", "keys", Type::texts},
                   {"any(tags.value)", "texts", Type::texts}},
                  from,
                  "name, number"},
                 [&](const std::vector<Cell> &row) {
                   if (!metrics.matches(row[1].text)) return true;
                   Tags all = tags_of(row[3], row[4]);
                   if (!tags.accept(all)) return true;
                   const auto number =
                       numbers.try_emplace(std::string(row[1].text), static_cast<int64_t>(numbers.size() + 1)).first;
                   found.push_back({row[2].integer(), number->second, number->first, std::move(all)});
                   return found.size() < limit;
                 });
  std::sort(found.begin(), found.end(),
            [](const Series &a, const Series &b) { return std::tie(a.metric, a.tags) < std::tie(b.metric, b.tags); });
  return found;
}

void ClickHouseStore::scan(std::span<const Series> series, const Range &range, PointVisitor &visitor) {
  each_question(series, [&](const PointQuestion &question) {
    Sql from("points FINAL WHERE metric = ");
    from.bind(question.metric) << " AND entity IN (";
    const char *separator = "";
    for (const auto &[entity, place] : question.places) from << std::exchange(separator, ", ") << entity;
    from << ")" << day_conditions(range) << time_conditions(range);
    PointGroups groups(question, visitor);
    client_.select({{{"entity", "number", Type::u64},
                     {"time_ns", "at", Type::i64},
                     {"duration_ns", "lasts", Type::i64},
                     {"is_count", "counted", Type::u8},
                     {"value", "amount", Type::f64},
                     {"count", "exactly", Type::i64}},
                    from,
                    "number, at"},
                   [&](const std::vector<Cell> &row) { return groups.add(row), true; });
    groups.hand_over();
  });
}

void ClickHouseStore::stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor) {
  const TagMatchers matchers(selection.tags);
  Sql from("stacks FINAL WHERE 1");
  from << day_conditions(selection.range) << time_conditions(selection.range) << tag_conditions(selection.tags);
  std::vector<Field> fields;
  client_.select({{{"time_ns", "at", Type::i64},
                   {"duration_ns", "lasts", Type::i64},
                   {"entity", "who", Type::u64},
                   {"stack", "number", Type::u64},
                   {"tags.key", "keys", Type::texts},
                   {"tags.value", "texts", Type::texts},
                   {"folded", "frames", Type::text},
                   {"fields.name", "names", Type::texts},
                   {"fields.value", "amounts", Type::f64s},
                   {"fields.count", "counts", Type::i64s},
                   {"fields.is_count", "counted", Type::u8s}},
                  from,
                  "at, who, number"},
                 [&](const std::vector<Cell> &row) {
                   const Tags tags = tags_of(row[5], row[6]);
                   if (!matchers.accept(tags)) return true;
                   read_fields(&row[8], fields);
                   visitor({row[1].integer(), row[2].integer(), row[3].integer(), row[4].integer(), tags, row[7].text, fields});
                   return true;
                 });
}

void ClickHouseStore::spans(const Selection &selection, const std::function<void(const Span &)> &visitor) {
  const core::MatcherList names = matchers_of(selection.metrics);
  const TagMatchers matchers(selection.tags);
  // The outer condition is one of the rows that FINAL leaves: an open span that has ended since must not come back.
  Sql from("(SELECT * FROM spans FINAL WHERE start_ns <= ");
  from << selection.range.to_ns << text_conditions("name", selection.metrics) << tag_conditions(selection.tags)
       << ") WHERE duration_ns < 0 OR start_ns + duration_ns < start_ns OR start_ns + duration_ns > " << selection.range.from_ns;
  std::vector<Field> fields;
  client_.select(
      {{{"start_ns", "at", Type::i64},
        {"duration_ns", "lasts", Type::i64},
        {"entity", "who", Type::u64},
        {"tags.key", "keys", Type::texts},
        {"tags.value", "texts", Type::texts},
        {"name", "called", Type::text},
        {"fields.name", "names", Type::texts},
        {"fields.value", "amounts", Type::f64s},
        {"fields.count", "counts", Type::i64s},
        {"fields.is_count", "counted", Type::u8s}},
       from,
       "at, who, called"},
      [&](const std::vector<Cell> &row) {
        const Tags tags = tags_of(row[4], row[5]);
        if (!names.matches(row[6].text) || !matchers.accept(tags) || !overlaps(row[1].integer(), row[2].integer(), selection.range))
          return true;
        read_fields(&row[7], fields);
        visitor({row[1].integer(), row[2].integer(), row[3].integer(), tags, row[6].text, fields});
        return true;
      });
}

}  // namespace atalaya::store::clickhouse
