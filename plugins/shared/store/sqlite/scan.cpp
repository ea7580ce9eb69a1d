// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/scan.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "plugins/shared/store/sqlite/rows/block.h"

namespace atalaya::store {
namespace {

constexpr size_t kEntitiesAtOnce = 256;
constexpr int64_t kGap = 16;  // skip up to this number of entities instead of seeking
// Points: few, so that they are still in the processor's cache when they are handed over, if no chunk has to be looked for then.
constexpr size_t kBuffered = 8 << 10, kBufferedBesideChunks = 256 << 10;
constexpr int64_t kNever = std::numeric_limits<int64_t>::min();

Points part_of(const Points &points, size_t begin, size_t end) {
  const size_t size = end - begin;
  return {points.times_ns.subspan(begin, size), points.durations_ns.subspan(begin, size), points.values.subspan(begin, size),
          points.counts.empty() ? points.counts : points.counts.subspan(begin, size)};
}

// The same for all windows that end in one step, and begin in it or with it.
int64_t step_of(const Steps &steps, int64_t time_ns) {
  if (steps.length_ns == 0) return 0;
  const int64_t since_ns = minus(time_ns, steps.begin_ns), rest = since_ns % steps.length_ns;
  return since_ns / steps.length_ns - (rest < 0 ? 1 : 0);
}

size_t place_after(const Times &times, int64_t time_ns) {
  const auto &all = times.times_ns;
  return static_cast<size_t>(std::upper_bound(all.begin(), all.end(), time_ns) - all.begin());
}

}  // namespace

Scan::Scan(Database &database, std::span<const Series> series, const Range &range, PointVisitor &visitor, Damage &damage)
    : series_(series),
      range_(range),
      visitor_(visitor),
      damage_(damage),
      rows_(database,
            "SELECT w.time_ns, w.duration_ns, w.id, s.fields FROM windows w CROSS JOIN samples s "
            "ON s.window = w.id AND s.block BETWEEN " +
                first_row_from("w.id", "?1") +
                " AND ?2 WHERE w.packed = 0 AND w.time_ns > ?3 AND w.time_ns <= ?4 ORDER BY "
                "1, 2"),
      chunks_(database,
              "SELECT id, head, data, first_ns, last_ns FROM chunks WHERE entity = ?1 AND last_ns > ?2 AND first_ns <= ?3 "
              "AND id < coalesce((SELECT min(chunk) FROM unfinished), 9223372036854775807) ORDER BY last_ns"),
      packed_(database,
              "SELECT max(last_ns) FROM (SELECT max(last_ns) AS last_ns FROM chunks WHERE entity = ?1 UNION ALL "
              "SELECT max(last_ns) FROM rolled WHERE entity = ?1)"),
      pools_(database,
             "SELECT id, head, data FROM chunks WHERE entity BETWEEN ?1 AND ?2 AND last_ns > ?3 AND first_ns <= ?4 "
             "AND id < coalesce((SELECT min(chunk) FROM unfinished), 9223372036854775807)"),
      rolled_(database) {}

void Scan::run() {
  Group all;
  for (size_t i = 0; i < series_.size(); ++i) {
    const int64_t metric = series_[i].metric_id;
    if (metric < 0) continue;
    std::optional<Steps> steps = visitor_.steps(i);
    if (steps && !steps->integrals) steps.reset();
    all[series_[i].entity].push_back({metric, i, {}, 0, {}, {}, 0, steps});
    if (static_cast<size_t>(metric) >= metrics_.size()) metrics_.resize(static_cast<size_t>(metric) + 1);
    metrics_[static_cast<size_t>(metric)] = true;
  }
  while (!all.empty()) {
    Group group;
    do {
      group.insert(all.extract(all.begin()));
      // To the end of a block, which is read once then.
    } while (!all.empty() && all.begin()->first - group.rbegin()->first <= kGap &&
             (group.size() < kEntitiesAtOnce || block_of(all.begin()->first) == block_of(group.rbegin()->first)));
    run_group(group);
  }
}

void Scan::run_group(Group &group) {
  packed_until_ns_.clear();
  int64_t packed_ns = kNever;
  for (auto &[entity, wanted] : group) {
    std::sort(wanted.begin(), wanted.end(), [](const Wanted &a, const Wanted &b) { return a.metric < b.metric; });
    packed_until_ns_.push_back(packed_.number(entity).value_or(kNever));
    packed_ns = std::max(packed_ns, packed_until_ns_.back());
  }
  read_pools(group);
  Range rest = range_;
  int64_t last_ns = rest.from_ns;
  const int64_t first = group.begin()->first, last = group.rbegin()->first;
  rows_.each(
      [&](const Row &row) {
        const int64_t time_ns = row.integer(0);
        // Only whole times: of those that windows of several lengths share, each has its part.
        if (time_ns != last_ns && buffered_ >= (last_ns >= packed_ns ? kBuffered : kBufferedBesideChunks)) {
          deliver(group, {rest.from_ns, last_ns});
          rest.from_ns = last_ns;
        }
        last_ns = time_ns;
        add_block(group, row);
      },
      block_of(first), block_of(last), range_.from_ns, range_.to_ns);
  deliver(group, rest);
}

void Scan::add_block(Group &group, const Row &row) {
  BlockReader samples(row.text(3));
  bool are_good = true;
  for (auto wanted = group.begin(); wanted != group.end() && samples.next();) {
    while (wanted != group.end() && wanted->first < samples.entity()) ++wanted;
    if (wanted != group.end() && wanted->first == samples.entity())
      are_good = add_row(wanted->second, row.integer(0), row.integer(1), samples.fields()) && are_good;
  }
  if (!are_good || samples.damaged()) damage_.add("samples", row.integer(2));
}

bool Scan::add_row(std::vector<Wanted> &wanted, int64_t time_ns, int64_t duration_ns, const SampleFields &fields) {
  FieldReader reader(fields);
  auto place = wanted.begin();
  while (reader.next_key()) {
    const int64_t metric = reader.metric();
    if (metric < 0 || static_cast<size_t>(metric) >= metrics_.size() || !metrics_[static_cast<size_t>(metric)]) {
      reader.skip_value();
      continue;
    }
    if (!reader.read_value()) break;
    // Fields mostly come in ascending order.
    if (place == wanted.end() || place->metric != metric)
      place = std::lower_bound(wanted.begin(), wanted.end(), metric, [](const Wanted &a, int64_t b) { return a.metric < b; });
    for (; place != wanted.end() && place->metric == metric; ++place) {
      place->rows.add(time_ns, duration_ns, reader.value());
      ++buffered_;
    }
  }
  return !reader.damaged();
}

void Scan::read_pools(Group &group) {
  std::set<int64_t> members;
  pools_.each(
      [&](const Row &row) {
        const int64_t pool = row.integer(0);
        if (!pool_.open(row.blob(1))) return damage_.add("chunks", pool);
        const auto is_requested = [&](const PoolReader::Member &member) { return group.contains(member.entity); };
        if (std::none_of(pool_.members().begin(), pool_.members().end(), is_requested)) return;
        if (!pool_.read(row.blob(2))) return damage_.add("chunks", pool);
        for (const PoolReader::Member &member : pool_.members()) {
          if (!is_requested(member)) continue;
          read_member(group.at(member.entity), member, pool);
          members.insert(member.entity);
        }
      },
      pool_of(group.rbegin()->first), pool_of(group.begin()->first), range_.from_ns, range_.to_ns);
  for (const int64_t entity : members) remove_newer(entity, group.at(entity));
}

void Scan::read_member(std::vector<Wanted> &wanted, const PoolReader::Member &member, int64_t pool) {
  if (!reader_.open_member(member.head)) return damage_.add("chunks", pool);
  reader_.set_data(member.data);
  for (Wanted &one : wanted) {
    const Part *part = reader_.find(one.metric);
    if (part == nullptr) continue;
    const Times *times = nullptr;
    if (!read_part(*part, times)) return damage_.add("chunks", pool);
    Column points;
    for (size_t i = 0; i < times->times_ns.size(); ++i)
      if (times->times_ns[i] > range_.from_ns && times->times_ns[i] <= range_.to_ns)
        points.add(times->times_ns[i], times->durations_ns[i], values_.at(i));
    one.pooled.metric = one.metric;
    one.pooled = merged(one.pooled, points);
  }
}

void Scan::remove_newer(int64_t entity, std::vector<Wanted> &wanted) {
  TimeInterval time_interval;
  for (const Wanted &one : wanted) time_interval.add(one.pooled);
  chunks_.each(
      [&](const Row &row) {
        if (!reader_.open(row.blob(1))) return;  // reported where it is read
        reader_.set_data(row.blob(2));
        for (Wanted &one : wanted) one.pooled = without(one.pooled, reader_);
      },
      entity, minus(time_interval.first_ns, 1), time_interval.last_ns);
}

void Scan::take_pooled(Wanted &wanted, int64_t until_ns) {
  const auto &times = wanted.pooled.times_ns;
  const auto begin = times.begin() + static_cast<ptrdiff_t>(wanted.pooled_delivered);
  const auto end = static_cast<size_t>(std::upper_bound(begin, times.end(), until_ns) - times.begin());
  if (end == wanted.pooled_delivered) return;
  wanted.rows = merged(part_of(wanted.pooled, wanted.pooled_delivered, end), wanted.rows);
  wanted.pooled_delivered = end;
}

void Scan::deliver(Group &group, const Range &range) {
  auto packed_until_ns = packed_until_ns_.begin();
  for (auto &[entity, wanted] : group) {
    for (Wanted &one : wanted) take_pooled(one, range.to_ns);
    if (*packed_until_ns++ > range.from_ns) deliver_packed(entity, wanted, range);
    for (Wanted &one : wanted) {
      deliver_until(one, range.to_ns);
      one.rows.clear();
      one.delivered = 0;
    }
  }
  buffered_ = 0;
}

// Chunks and rolled chunks, with the rows before and between them.
void Scan::deliver_packed(int64_t entity, std::vector<Wanted> &wanted, const Range &range) {
  rolled_.seek(entity, range);
  chunks_.each(
      [&](const Row &row) {
        take_rolled(wanted, row.integer(3), row.integer(4), range);
        deliver_chunk(wanted, row, range);
      },
      entity, range.from_ns, range.to_ns);
  take_rolled(wanted, range.to_ns, range.to_ns, range);
}

void Scan::take_rolled(std::vector<Wanted> &wanted, int64_t first_ns, int64_t last_ns, const Range &range) {
  for (; rolled_.starts_until(last_ns); rolled_.advance()) {
    bool good = true;
    for (Wanted &one : wanted) {
      deliver_until(one, std::min(rolled_.first_ns(), first_ns) - 1);
      good = rolled_.read(one.metric, rolled_points_) && good;
      one.rolled.add(rolled_points_, range);
    }
    if (!good) damage_.add("rolled", rolled_.id());
  }
}

void Scan::deliver_chunk(std::vector<Wanted> &wanted, const Row &chunk, const Range &range) {
  bool good = reader_.open(chunk.blob(1));
  bool has_data = false;
  for (Wanted &one : wanted) {
    const Part *part = good ? reader_.find(one.metric) : nullptr;
    if (part == nullptr) continue;
    const auto &times = one.rows.times_ns;
    const auto from = times.begin() + static_cast<ptrdiff_t>(one.delivered);
    const auto first = std::lower_bound(from, times.end(), part->summary.first_ns);
    deliver_rows(one, static_cast<size_t>(first - times.begin()));
    deliver_rolled(one, part->summary.first_ns);
    const bool is_mixed = (first != times.end() && *first <= part->summary.last_ns) || one.rolled.has_until(part->summary.last_ns);
    const bool is_inside = part->summary.first_ns > range.from_ns && part->summary.last_ns <= range.to_ns;
    const auto set_data = [&] {
      if (!std::exchange(has_data, true)) reader_.set_data(chunk.blob(2));
    };
    if (one.steps) set_data();  // for the lengths of windows
    if (!is_mixed && is_inside && part->has_summary && take(one, *part, part->summary)) continue;
    set_data();
    good = part->blocks == 0 ? deliver_part(one, *part, range) : deliver_blocks(one, *part, range);
  }
  if (!good) damage_.add("chunks", chunk.integer(0));
}

bool Scan::take(const Wanted &wanted, const Part &part, const Summary &summary) {
  if (!wanted.steps) return visitor_.take(wanted.series, summary);
  const Steps &steps = *wanted.steps;
  const int64_t window_ns = reader_.window_ns(part);
  if (window_ns == 0) return false;
  const int64_t begin_ns = minus(summary.first_ns, window_ns);
  const bool is_inside = begin_ns >= steps.range.from_ns && summary.last_ns <= steps.range.to_ns;
  if (!is_inside || step_of(steps, plus(begin_ns, 1)) != step_of(steps, summary.last_ns)) return false;
  Summary whole = summary;
  if (__builtin_mul_overflow(window_ns, summary.count, &whole.durations_ns)) return false;  // of a damaged chunk
  whole.integral = summary.sum * static_cast<double>(window_ns);
  return visitor_.take(wanted.series, whole);
}

// A query of stretches takes summaries of blocks.
bool Scan::deliver_blocks(Wanted &wanted, const Part &part, const Range &range) {
  const Times *times = nullptr;
  for (const Block &block : reader_.blocks(part)) {
    const Summary &summary = block.summary;
    if (summary.last_ns <= range.from_ns || summary.first_ns > range.to_ns) continue;
    deliver_until(wanted, minus(summary.first_ns, 1));
    const Column &rows = wanted.rows;
    const bool is_mixed = (wanted.delivered < rows.size() && rows.times_ns[wanted.delivered] <= summary.last_ns) ||
                          wanted.rolled.has_until(summary.last_ns);
    const bool is_inside = summary.first_ns > range.from_ns && summary.last_ns <= range.to_ns;
    if (!is_mixed && is_inside && take(wanted, part, summary)) continue;
    if (times == nullptr && !read_part(part, times)) return false;
    deliver_stored(wanted, part, *times, std::max(block.begin, place_after(*times, range.from_ns)),
                   std::min(block.end, place_after(*times, range.to_ns)));
  }
  return true;
}

bool Scan::deliver_part(Wanted &wanted, const Part &part, const Range &range) {
  const Times *times = nullptr;
  if (!read_part(part, times)) return false;
  deliver_stored(wanted, part, *times, place_after(*times, range.from_ns), place_after(*times, range.to_ns));
  return true;
}

bool Scan::read_part(const Part &part, const Times *&times) {
  times = reader_.times(part);
  return times != nullptr && reader_.values(part, values_);
}

void Scan::deliver_stored(Wanted &wanted, const Part &part, const Times &stored, size_t begin, size_t end) {
  if (begin >= end) return;
  const std::vector<int64_t> &times = stored.times_ns;
  const Column &rows = wanted.rows;
  const bool is_mixed = wanted.delivered < rows.size() && rows.times_ns[wanted.delivered] <= part.summary.last_ns;
  if (!is_mixed && values_.is_count.empty()) {
    deliver(wanted, {std::span(times).subspan(begin, end - begin), std::span(stored.durations_ns).subspan(begin, end - begin),
                     std::span(values_.reals).subspan(begin, end - begin),
                     values_.counts.empty() ? std::span<const int64_t>{}
                                            : std::span<const int64_t>(values_.counts).subspan(begin, end - begin)});
    return;
  }
  merged_.clear();
  for (size_t i = begin; i < end; ++i) {
    for (; wanted.delivered < rows.size() && rows.times_ns[wanted.delivered] < times[i]; ++wanted.delivered)
      merged_.add(rows.times_ns[wanted.delivered], rows.durations_ns[wanted.delivered], rows.values[wanted.delivered]);
    // A row came later than the chunk.
    const bool is_replaced = wanted.delivered < rows.size() && rows.times_ns[wanted.delivered] == times[i];
    if (!is_replaced) merged_.add(times[i], stored.durations_ns[i], values_.at(i));
  }
  deliver(wanted, merged_, 0, merged_.size());
}

void Scan::deliver_rows(Wanted &wanted, size_t end) {
  deliver(wanted, wanted.rows, wanted.delivered, end);
  wanted.delivered = end;
}

void Scan::deliver_until(Wanted &wanted, int64_t until_ns) {
  const auto &times = wanted.rows.times_ns;
  const auto from = times.begin() + static_cast<ptrdiff_t>(wanted.delivered);
  deliver_rows(wanted, static_cast<size_t>(std::upper_bound(from, times.end(), until_ns) - times.begin()));
  deliver_rolled(wanted, until_ns);
}

void Scan::deliver(Wanted &wanted, const Column &points, size_t begin, size_t end) {
  while (begin < end) {
    const bool counts = points.values[begin].is_count;
    size_t stop = begin;
    reals_.clear();
    counts_.clear();
    for (; stop < end && points.values[stop].is_count == counts; ++stop) {
      reals_.push_back(points.values[stop].as_real());
      if (counts) counts_.push_back(points.values[stop].count);
    }
    const size_t size = stop - begin;
    deliver(wanted, {std::span(points.times_ns).subspan(begin, size), std::span(points.durations_ns).subspan(begin, size), reals_,
                     counts_});
    begin = stop;
  }
}

void Scan::deliver(Wanted &wanted, const Points &points) {
  Points rest = points;
  while (wanted.rolled.has_until(rest.times_ns.back())) {
    const auto first = std::lower_bound(rest.times_ns.begin(), rest.times_ns.end(), wanted.rolled.next_ns());
    const auto before = static_cast<size_t>(first - rest.times_ns.begin());
    if (before > 0) visitor_.points(wanted.series, part_of(rest, 0, before));
    rest = part_of(rest, before, rest.times_ns.size());
    deliver_rolled(wanted, wanted.rolled.next_ns());
  }
  visitor_.points(wanted.series, rest);
}

void Scan::deliver_rolled(Wanted &wanted, int64_t until_ns) {
  while (wanted.rolled.has_until(until_ns)) {
    const RolledPoint &point = wanted.rolled.take();
    const Number plain = plain_value(point, series_[wanted.series].kind());
    const int64_t time_ns = time_of(point);
    const double value = plain.as_real();
    const Points points{{&time_ns, 1}, {&point.duration_ns, 1}, {&value, 1}, {&plain.count, plain.is_count ? size_t{1} : 0}};
    if (point.count == 1) {
      visitor_.points(wanted.series, points);
    } else {
      visitor_.rolled(wanted.series, summary_of(point), points);
    }
  }
}

}  // namespace atalaya::store
