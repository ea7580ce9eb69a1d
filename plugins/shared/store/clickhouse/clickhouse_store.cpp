// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/clickhouse/clickhouse_store.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/sample/span_end.h"
#include "plugins/shared/store/clickhouse/conditions.h"
#include "plugins/shared/store/clickhouse/declarations.h"
#include "plugins/shared/store/clickhouse/point_groups.h"
#include "plugins/shared/store/clickhouse/schema.h"
#include "plugins/shared/store/selection.h"
#include "plugins/shared/store/stack_parts.h"

namespace atalaya::store::clickhouse {
namespace {

// A server may work for long before the first row comes, and nobody looks at a clock until then.
ClientOptions reading(Location location, std::chrono::nanoseconds response_timeout) {
  constexpr std::chrono::seconds kConnect{10};
  return {std::move(location), response_timeout, response_timeout, "none", kConnect, response_timeout};
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

// That of a span, as `overlaps` has it.
Sql overlap_condition(const Range &range) {
  Sql sql("start_ns <= ");
  return sql << range.to_ns << " AND (duration_ns < 0 OR start_ns + duration_ns < start_ns OR start_ns + duration_ns > "
             << range.from_ns << ")";
}

Range narrower(const Range &a, const Range &b) {
  return {std::max(a.from_ns, b.from_ns), std::min(a.to_ns, b.to_ns)};
}

// The points of the series in the range.
Sql rows_of(const PointQuestion &question, const Range &range) {
  Sql from("points FINAL WHERE metric = ");
  from.bind(question.metric) << " AND entity IN (";
  const char *separator = "";
  for (const auto &[entity, place] : question.places) from << std::exchange(separator, ", ") << entity;
  return from << ")" << day_conditions(range) << time_conditions(range);
}

// No time is below 0, and so is none of these sums.
Sql step_of(const char *time, const Steps &steps) {
  Sql sql("intDiv(");
  return sql << time << " + " << steps.length_ns - steps.begin_ns << ", " << steps.length_ns << ")";
}

// The windows that lie in one step, and in its range.
Sql whole_windows(const Steps &steps) {
  Sql sql("(time_ns - duration_ns >= ");
  sql << std::max<int64_t>(steps.range.from_ns, 0) << " AND time_ns <= " << steps.range.to_ns;
  // The first moment of a window is after its begin.
  if (steps.length_ns > 0) sql << " AND " << step_of("time_ns", steps) << " = " << step_of("(time_ns - duration_ns + 1)", steps);
  return sql << ")";
}

bool overlaps(int64_t start_ns, int64_t duration_ns, const Range &range) {
  int64_t end = 0;
  if (duration_ns < 0 || __builtin_add_overflow(start_ns, duration_ns, &end)) return true;
  return end > range.from_ns;
}

}  // namespace

ClickHouseStore::ClickHouseStore(Location location, std::chrono::nanoseconds response_timeout)
    : client_(reading(std::move(location), response_timeout)) {
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

Catalogue ClickHouseStore::catalogue() {
  Catalogue all = read_catalogue(client_);
  for (const std::string &metric : metrics()) all.try_emplace(metric, std::make_shared<const MetricInfo>());
  return all;
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

// The small table of series knows the days: the first or the last two of them, because points of one day may all be later than the
// end of the range. Without an order: of all days.
std::optional<Range> ClickHouseStore::days_extent(const Range &range, const char *order) {
  Sql from("points WHERE 1");
  if (order == nullptr) {
    from << day_conditions(range);
  } else {
    from << " AND day GLOBAL IN (SELECT DISTINCT day FROM series WHERE metric != ''" << day_conditions(range) << " ORDER BY day "
         << order << " LIMIT 2)";
  }
  from << time_conditions(range);
  std::optional<Range> found;
  client_.select(
      {{{"min(time_ns)", "first_at", Type::i64}, {"max(time_ns)", "last_at", Type::i64}, {"count()", "number", Type::u64}},
       from,
       "number"},
      [&](const std::vector<Cell> &row) {
        if (row[3].integer() > 0) found = Range{row[1].integer() - 1, row[2].integer()};
        return true;
      });
  return found;
}

std::optional<Range> ClickHouseStore::extent(int64_t until_ns) {
  const Range range{std::numeric_limits<int64_t>::min(), until_ns};
  auto first = days_extent(range, "ASC"), last = days_extent(range, "DESC");
  if (!first || !last) first = last = days_extent(range, nullptr);  // points were deleted, and the series of their days were not
  if (!first) return std::nullopt;
  return Range{first->from_ns, last->to_ns};
}

// From the windows of the points: the primary key reads three narrow columns. Windows around the range show whether those without a
// sample were collected.
std::vector<CollectedRow> ClickHouseStore::collected(const Range &range) {
  const Range around{core::start_of(range.from_ns, 2 * kLongestHold), core::end_of(range.to_ns, 2 * kLongestHold)};
  Sql from(
      "points GLOBAL ANY INNER JOIN (SELECT entity, any(tags.value[indexOf(tags.key, 'host')]) AS host FROM series WHERE metric != "
      "''");
  from << day_conditions(around) << " GROUP BY entity) USING entity WHERE 1" << day_conditions(around) << time_conditions(around)
       << " GROUP BY host, splitByChar('.', metric)[1], time_ns, duration_ns";
  std::map<std::pair<std::string, std::string>, CollectedRows> all;
  client_.select({{{"host", "its_host", Type::text},
                   {"splitByChar('.', metric)[1]", "its_family", Type::text},
                   {"time_ns", "at", Type::i64},
                   {"duration_ns", "lasts", Type::i64}},
                  from,
                  "at"},
                 [&](const std::vector<Cell> &row) {
                   const std::pair key(std::string(row[1].text), std::string(row[2].text));
                   all.try_emplace(key, key.first, key.second).first->second.add(row[3].integer(), row[4].integer());
                   return true;
                 });
  std::vector<CollectedRow> rows;
  for (const auto &[key, own] : all) {
    rows.insert(rows.end(), own.windows().begin(), own.windows().end());
    rows.insert(rows.end(), own.instants().begin(), own.instants().end());
  }
  return rows;
}

std::vector<Series> ClickHouseStore::series(const Selection &selection, size_t limit) {
  const io::MatcherList metrics = matchers_of(selection.metrics);
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
                   found.push_back({row[2].integer(), number->second, number->first, std::move(all), nullptr});
                   return found.size() < limit;
                 });
  if (found.empty()) return found;
  const Catalogue catalogue = read_catalogue(client_);
  for (Series &one : found)
    if (const auto info = catalogue.find(one.metric); info != catalogue.end()) one.info = info->second;
  std::sort(found.begin(), found.end(),
            [](const Series &a, const Series &b) { return std::tie(a.metric, a.tags) < std::tie(b.metric, b.tags); });
  return found;
}

void ClickHouseStore::scan(std::span<const Series> series, const Range &range, PointVisitor &visitor) {
  for_each_question(series, [&](const PointQuestion &question) {
    const std::optional<Steps> steps = visitor.steps(question.places.begin()->second);
    if (!steps) {
      scan_points(question, rows_of(question, range), visitor);
    } else if (steps->integrals) {
      scan_integrals(question, range, *steps, visitor);
    } else {
      scan_steps(question, rows_of(question, narrower(range, steps->range)), *steps, visitor);
    }
  });
}

void ClickHouseStore::scan_integrals(const PointQuestion &question, const Range &range, const Steps &steps, PointVisitor &visitor) {
  PointQuestion instants = {question.metric, {}}, windows = question;
  const Sql of_instants = rows_of(question, range) << " AND duration_ns <= 0 GROUP BY entity";
  client_.select({{{"entity", "number", Type::u64}}, of_instants, "number"}, [&](const std::vector<Cell> &row) {
    if (auto place = windows.places.extract(row[1].bits)) instants.places.insert(std::move(place));
    return true;
  });
  if (!instants.places.empty()) scan_points(instants, rows_of(instants, range), visitor);
  if (windows.places.empty()) return;
  const Sql is_whole = whole_windows(steps);
  scan_points(windows, rows_of(windows, range) << " AND NOT (" << is_whole << ")", visitor);
  scan_steps(windows, rows_of(windows, narrower(range, steps.range)) << " AND " << is_whole, steps, visitor);
}

void ClickHouseStore::scan_points(const PointQuestion &question, const Sql &from, PointVisitor &visitor) {
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
  groups.deliver();
}

void ClickHouseStore::scan_steps(const PointQuestion &question, Sql from, const Steps &steps, PointVisitor &visitor) {
  from << " GROUP BY entity";
  if (steps.length_ns > 0) from << ", " << step_of("time_ns", steps);
  client_.select({{{"entity", "number", Type::u64},
                   {"toInt64(count())", "points", Type::i64},
                   {"min(time_ns)", "first_at", Type::i64},
                   {"max(time_ns)", "last_at", Type::i64},
                   {"sum(value)", "total", Type::f64},
                   {"min(value)", "least", Type::f64},
                   {"max(value)", "most", Type::f64},
                   {"argMin(value, time_ns)", "first_value", Type::f64},
                   {"argMax(value, time_ns)", "last_value", Type::f64},
                   {"sum(value * duration_ns)", "over_time", Type::f64},
                   {"sum(duration_ns)", "lasts", Type::i64}},
                  from,
                  "number, first_at"},
                 [&](const std::vector<Cell> &row) {
                   const auto place = question.places.find(row[1].bits);
                   if (place == question.places.end()) return true;
                   Summary summary{row[2].integer(), row[3].integer(), row[4].integer(), row[5].real(),
                                   row[6].real(),    row[7].real(),    row[8].real(),    row[9].real()};
                   if (steps.integrals) {
                     summary.integral = row[10].real();
                     summary.durations_ns = row[11].integer();
                   }
                   if (!visitor.take(place->second, summary))
                     throw Error(Cause::permanent,
                                 client_.name() + ": the server's sums are not those of the steps that were asked for");
                   return true;
                 });
}

void ClickHouseStore::whole_stacks(const Selection &selection, const std::function<void(const Stack &)> &visitor) {
  const TagMatchers matchers(selection.tags);
  Sql from("stacks FINAL WHERE 1");
  const Range ends = window_ends(selection.range);
  from << day_conditions(ends) << time_conditions(ends) << " AND (time_ns <= " << selection.range.to_ns
       << " OR time_ns - duration_ns < " << selection.range.to_ns << ")" << tag_conditions(selection.tags);
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

std::vector<ClickHouseStore::DayRange> ClickHouseStore::span_starts(const Selection &selection) {
  // Of rows that were replaced too: those began when the ones did that replaced them, so no day is missed.
  Sql from("spans WHERE ");
  from << overlap_condition(selection.range) << text_conditions("name", selection.metrics) << tag_conditions(selection.tags)
       << " GROUP BY day";
  std::vector<DayRange> begins;
  client_.select({{{"min(start_ns)", "first_at", Type::i64}, {"max(start_ns)", "last_at", Type::i64}}, from, "first_at"},
                 [&](const std::vector<Cell> &row) {
                   return begins.push_back({row[1].integer(), row[2].integer()}), true;
                 });
  return begins;
}

// Its patterns are compiled once.
struct ClickHouseStore::SpanQuestion {
  const Selection &selection;
  io::MatcherList names;
  TagMatchers tags;
};

void ClickHouseStore::spans(const Selection &selection, const std::function<void(const Span &)> &visitor) {
  constexpr size_t kDaysAtOnce = 256;  // 32 KB of text
  const SpanQuestion question{selection, matchers_of(selection.metrics), TagMatchers(selection.tags)};
  const std::vector<DayRange> begins = span_starts(selection);
  for (std::span<const DayRange> rest = begins; !rest.empty(); rest = rest.subspan(std::min(kDaysAtOnce, rest.size())))
    started_spans(rest.first(std::min(kDaysAtOnce, rest.size())), question, visitor);
}

void ClickHouseStore::started_spans(std::span<const DayRange> days, const SpanQuestion &question,
                                    const std::function<void(const Span &)> &visitor) {
  const Selection &selection = question.selection;
  Sql from("(SELECT * FROM spans FINAL WHERE (");
  const char *separator = "";
  for (const DayRange &day : days)
    from << std::exchange(separator, " OR ") << "(start_ns >= " << day.first_ns << " AND start_ns <= " << day.last_ns
         << day_conditions({day.first_ns, day.last_ns}) << ")";
  // The outer condition is one of the rows that FINAL leaves: an open span that has ended since must not come back.
  from << ")" << text_conditions("name", selection.metrics) << tag_conditions(selection.tags) << ") WHERE "
       << overlap_condition(selection.range);
  std::vector<Field> fields;
  client_.select({{{"start_ns", "at", Type::i64},
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
                   if (!question.names.matches(row[6].text) || !question.tags.accept(tags) ||
                       !overlaps(row[1].integer(), row[2].integer(), selection.range))
                     return true;
                   read_fields(&row[7], fields);
                   visitor({row[1].integer(), row[2].integer(), row[3].integer(), tags, row[6].text, fields});
                   return true;
                 });
}

}  // namespace atalaya::store::clickhouse
