// SPDX-License-Identifier: Apache-2.0
#include "plugins/store/packer.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace atalaya::store {
namespace {

constexpr int64_t kMinute = 60'000'000'000;
constexpr int64_t kStretch = 10 * kMinute;
// A stretch that is long enough for good chunks and short enough that they often lie within one step of a long query.
constexpr std::array kStretches = {kStretch, 60 * kMinute, 360 * kMinute, 1440 * kMinute};
constexpr int64_t kEnoughWindows = 300;
constexpr size_t kMostWindows = 20'000;
constexpr int64_t kGrace = kMinute;         // for batches that are late
constexpr int64_t kSettled = 10 * kMinute;  // what arrived lately is there for plain SQL, whatever its own time
constexpr uint64_t kQuietBatches = 32;      // that did not write to a stretch
constexpr int kLooks = 16;                  // stretches that are looked at before the others have to wait
constexpr size_t kSliceRows = 2048;         // read before they become chunks: a megabyte or two
constexpr size_t kPointsAChunk = 8192;      // more of a series are split
constexpr int64_t kOldPointsAUnit = 16;     // of a chunk that is merged: decoded and encoded again for a unit of work

int64_t floor_to(int64_t time_ns, int64_t step) {
  const int64_t rest = time_ns % step;
  return time_ns - (rest < 0 ? rest + step : rest);
}
// Windows belong to the stretch that their end lies in; an end on the border belongs to what it ends.
int64_t stretch_of(int64_t time_ns, int64_t length) {
  return floor_to(time_ns - 1, length);
}

// The points of both; where they share a time, the new ones win.
Column merged(const Column &old, const Column &fresh) {
  Column all;
  all.metric = old.metric;
  size_t o = 0, f = 0;
  const auto take = [&](const Column &from, size_t &i) {
    all.add(from.times_ns[i], from.durations_ns[i], from.values[i]);
    ++i;
  };
  while (o < old.size() || f < fresh.size()) {
    if (f == fresh.size() || (o < old.size() && old.times_ns[o] <= fresh.times_ns[f])) {
      take(old, o);  // and the fresh one of the same time replaces it
    } else {
      take(fresh, f);
    }
  }
  return all;
}

// The points from one index to before another.
Column part_of(const Column &column, size_t begin, size_t end) {
  const auto cut = [&](const auto &all) {
    return std::decay_t<decltype(all)>(all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(end));
  };
  return {column.metric, cut(column.times_ns), cut(column.durations_ns), cut(column.values)};
}

// Takes the points up to a time out of the columns; those that have no more are gone.
std::vector<Column> take_until(std::vector<Column> &columns, int64_t last_ns) {
  std::vector<Column> taken;
  for (Column &column : columns) {
    const auto &times = column.times_ns;
    const auto end = static_cast<size_t>(std::upper_bound(times.begin(), times.end(), last_ns) - times.begin());
    if (end == 0) continue;
    taken.push_back(part_of(column, 0, end));
    column = part_of(column, end, column.size());
  }
  std::erase_if(columns, [](const Column &column) { return column.size() == 0; });
  return taken;
}

// Windows with a damaged row are left as they are while the writer lives: they are not looked at again and again.
Database &with_list_of_damaged(Database &database) {
  database.execute("CREATE TEMP TABLE IF NOT EXISTS damaged(window INTEGER PRIMARY KEY)");
  return database;
}

}  // namespace

Packer::Packer(Database &database, Warn warn)
    : database_(with_list_of_damaged(database)),
      warn_(std::move(warn)),
      first_open_(database, "SELECT min(time_ns) FROM windows WHERE packed = 0 AND time_ns > ?1 AND id NOT IN temp.damaged"),
      last_time_(database, "SELECT max(time_ns) FROM windows"),
      count_open_(database,
                  "SELECT count(*) FROM (SELECT 1 FROM windows WHERE packed = 0 AND time_ns > ?1 AND time_ns <= ?2 "
                  "AND id NOT IN temp.damaged LIMIT ?3)"),
      last_arrival_(database,
                    "SELECT max(arrived_ns) FROM windows WHERE packed = 0 AND time_ns > ?1 AND time_ns <= ?2 AND arrived_ns <= ?3"),
      list_open_(database,
                 "SELECT id, time_ns, duration_ns, arrived_ns FROM windows WHERE packed = 0 AND time_ns > ?1 AND time_ns <= ?2 "
                 "AND id NOT IN temp.damaged ORDER BY time_ns, duration_ns LIMIT ?3"),
      list_entities_(database, "SELECT entity FROM samples WHERE window = ?1"),
      read_rows_(database, "SELECT entity, fields FROM samples WHERE window = ?1 AND entity BETWEEN ?2 AND ?3"),
      any_row_(database,
               "SELECT 1 FROM windows w CROSS JOIN samples s ON s.window = w.id AND s.entity = ?1 "
               "WHERE w.packed = 0 AND w.time_ns BETWEEN ?2 AND ?3 LIMIT 1"),
      old_chunk_(
          database,
          "SELECT id, first_ns, last_ns, arrived_ns, head, data FROM chunks WHERE entity = ?1 AND last_ns >= ?2 AND first_ns <= ?3 "
          "AND id < coalesce((SELECT min(chunk) FROM unfinished), 9223372036854775807) ORDER BY last_ns LIMIT 1"),
      add_chunk_(database, "INSERT INTO chunks(entity, first_ns, last_ns, arrived_ns, head, data) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"),
      delete_chunk_(database, "DELETE FROM chunks WHERE id = ?1"),
      next_chunk_(database, "SELECT seq + 1 FROM sqlite_sequence WHERE name = 'chunks'"),
      begin_unfinished_(database, "INSERT INTO unfinished(chunk) VALUES(?1)"),
      end_unfinished_(database, "DELETE FROM unfinished"),
      delete_unfinished_(database,
                         "DELETE FROM chunks WHERE id IN "
                         "(SELECT id FROM chunks WHERE id >= (SELECT min(chunk) FROM unfinished) LIMIT ?1)"),
      leave_window_(database, "INSERT OR IGNORE INTO temp.damaged(window) VALUES(?1)"),
      pack_window_(database, "UPDATE windows SET packed = 1 WHERE id = ?1"),
      packed_window_(database, "SELECT id FROM windows WHERE packed = 1 LIMIT 1"),
      delete_samples_(
          database, "DELETE FROM samples WHERE window = ?1 AND entity IN (SELECT entity FROM samples WHERE window = ?1 LIMIT ?2)"),
      has_stacks_(database, "SELECT 1 FROM stacks WHERE window = ?1 LIMIT 1"),
      delete_window_(database, "DELETE FROM windows WHERE id = ?1"),
      swept_window_(database, "UPDATE windows SET packed = 2 WHERE id = ?1") {}

bool Packer::step(int64_t now_ns, int64_t work) {
  if (stage_ == Stage::choose && !packed_window_.number() && !choose(now_ns)) return false;
  Transaction transaction(database_);
  bool rows_left = sweep(work);
  while (!rows_left && work > 0 && stage_ != Stage::choose) {
    switch (stage_) {
      case Stage::choose:
        break;
      case Stage::survey:
        survey(work);
        break;
      case Stage::read:
        read(work);
        break;
      case Stage::encode:
        encode(work);
        break;
      case Stage::finish:
        finish();
        rows_left = true;
        break;
      case Stage::clean:
        clean(work);
        break;
    }
  }
  transaction.commit();
  return true;
}

void Packer::touch(int64_t window, int64_t time_ns) {
  touched_[stretch_of(time_ns, kStretch)] = batch_;
  if (touched_.size() > 2 * kQuietBatches)
    std::erase_if(touched_, [&](const auto &one) { return one.second + kQuietBatches < batch_; });
  lose(window);
}

void Packer::lose(int64_t window) {
  const bool is_mine = std::any_of(windows_.begin(), windows_.end(), [&](const Window &one) { return one.id == window; });
  if (is_mine) start_again();
}

bool Packer::has_rows(int64_t entity, int64_t first_ns, int64_t last_ns) {
  return any_row_.number(entity, first_ns, last_ns).has_value();
}

void Packer::put(int64_t entity, std::vector<Column> columns, int64_t arrived_ns) {
  // Chunks that are added while others are unfinished would not count.
  if (stage_ != Stage::choose) {
    start_again();
    int64_t all = INT64_MAX;
    clean(all);
  }
  Entity bulk{entity, std::move(columns)};
  bulk.arrived_ns = arrived_ns;
  int64_t work = INT64_MAX;
  while (!bulk.columns.empty()) encode_next(bulk, work);
  delete_replaced();
}

void Packer::forget() {
  start_again();
}

void Packer::start_again() {
  windows_.clear();
  entities_.clear();
  slice_.clear();
  replaced_.clear();
  stage_ = Stage::clean;
}

// Deletes the rows of windows that are packed; true: some are left.
bool Packer::sweep(int64_t &work) {
  while (work > 0) {
    const auto window = packed_window_.number();
    if (!window) return false;
    delete_samples_.run(*window, work);
    const bool is_empty = database_.changes() < work;
    work -= database_.changes() / 2 + 1;
    if (!is_empty) continue;
    if (has_stacks_.number(*window)) {
      swept_window_.run(*window);
    } else {
      delete_window_.run(*window);
    }
  }
  return true;
}

bool Packer::is_quiet(int64_t begin_ns, int64_t end_ns) const {
  for (auto slot = touched_.lower_bound(begin_ns); slot != touched_.end() && slot->first < end_ns; ++slot)
    if (slot->second + kQuietBatches > batch_) return false;
  return true;
}

bool Packer::choose(int64_t now_ns) {
  const int64_t latest_ns = std::max(now_ns, last_time_.number().value_or(now_ns));
  int64_t after_ns = INT64_MIN;
  for (int look = 0; look < kLooks; ++look) {
    const auto first = first_open_.number(after_ns);
    if (!first || *first > latest_ns - kGrace) return false;
    int64_t begin_ns = 0, end_ns = 0;
    for (const int64_t length : kStretches) {
      begin_ns = stretch_of(*first, length);
      end_ns = begin_ns + length;
      if (count_open_.number(begin_ns, end_ns, kEnoughWindows).value_or(0) >= kEnoughWindows) break;
    }
    const bool is_settled = last_arrival_.number(begin_ns, end_ns, now_ns).value_or(INT64_MIN) <= now_ns - kSettled;
    if (end_ns <= latest_ns - kGrace && is_settled && is_quiet(begin_ns, end_ns)) {
      begin(begin_ns, end_ns);
      return true;
    }
    after_ns = stretch_of(*first, kStretch) + kStretch;
  }
  return false;
}

void Packer::begin(int64_t begin_ns, int64_t end_ns) {
  list_open_.each(
      [&](const Row &row) {
        windows_.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3)});
      },
      begin_ns, end_ns, static_cast<int64_t>(kMostWindows));
  begin_unfinished_.run(next_chunk_.number().value_or(1));
  at_window_ = 0;
  stage_ = Stage::survey;
}

void Packer::survey(int64_t &work) {
  for (; at_window_ < windows_.size(); ++at_window_) {
    if (work <= 0) return;
    list_entities_.each(
        [&](const Row &row) {
          ++entities_[row.integer(0)];
          --work;
        },
        windows_[at_window_].id);
  }
  begin_slice();
}

void Packer::begin_slice() {
  slice_.clear();
  at_window_ = at_slice_ = 0;
  // Each slice looks into every window.
  const size_t enough = std::max(kSliceRows, windows_.size());
  for (size_t rows = 0; !entities_.empty() && rows < enough; entities_.erase(entities_.begin())) {
    slice_.push_back({entities_.begin()->first, {}});
    rows += entities_.begin()->second;
  }
  stage_ = slice_.empty() ? Stage::finish : Stage::read;
}

void Packer::read(int64_t &work) {
  for (; at_window_ < windows_.size(); ++at_window_) {
    if (work <= 0) return;
    Window &window = windows_[at_window_];
    auto entity = slice_.begin();
    --work;
    read_rows_.each(
        [&](const Row &row) {
          while (entity != slice_.end() && entity->id < row.integer(0)) ++entity;
          if (entity == slice_.end()) return;
          if (!add_row(*entity, window, row.text(1))) leave(window);
          --work;
        },
        window.id, slice_.front().id, slice_.back().id);
  }
  stage_ = Stage::encode;
}

bool Packer::add_row(Entity &entity, const Window &window, std::string_view fields) {
  ++entity.rows;
  entity.arrived_ns = std::max(entity.arrived_ns, window.arrived_ns);
  FieldReader reader(fields);
  while (reader.next()) {
    std::vector<Column> &columns = entity.columns;
    // Samples of an entity have their fields in the same order nearly always.
    if (entity.next >= columns.size() || columns[entity.next].metric != reader.metric()) {
      const auto found =
          std::find_if(columns.begin(), columns.end(), [&](const Column &column) { return column.metric == reader.metric(); });
      entity.next = static_cast<size_t>(found - columns.begin());
      if (found == columns.end()) columns.emplace_back().metric = reader.metric();
    }
    columns[entity.next++].add(window.time_ns, window.duration_ns, reader.value());
  }
  entity.next = 0;
  return !reader.damaged();
}

// What can be read of the window is in chunks then, too; its rows win over them, and nothing is deleted of what may be saved.
void Packer::leave(Window &window) {
  window.is_damaged = true;
  leave_window_.run(window.id);
  if (std::exchange(has_warned_, true) || !warn_) return;
  warn_("a row of the window " + std::to_string(window.id) + " in the table samples of database " + database_.path() +
        " is no object of numbers: the rows of such windows stay as they are, not compressed. Delete that window's rows, or "
        "restore the database from a copy");
}

void Packer::encode(int64_t &work) {
  for (; at_slice_ < slice_.size(); ++at_slice_) {
    Entity &entity = slice_[at_slice_];
    for (; !entity.columns.empty(); encode_next(entity, work))
      if (work <= 0) return;
    work -= entity.rows / 4 + 1;
  }
  begin_slice();
}

// What came late for a time that is in a chunk already: a new chunk takes the place of that one. Chunks in between, and their
// points, are left alone.
void Packer::encode_next(Entity &entity, int64_t &work) {
  const auto old = first_old_chunk(entity);
  if (!old) {
    add_chunks(entity.id, entity.columns, entity.arrived_ns);
    entity.columns.clear();
    return;
  }
  if (std::vector<Column> before = take_until(entity.columns, old->first_ns - 1); !before.empty())
    return add_chunks(entity.id, before, entity.arrived_ns);
  std::vector<Column> columns = take_until(entity.columns, old->last_ns);
  int64_t arrived_ns = entity.arrived_ns;
  if (merge(columns, old->head, old->data, work)) {
    replaced_.push_back(old->id);
    arrived_ns = std::max(arrived_ns, old->arrived_ns);
  }  // else it is damaged: it stays as it is, for those who may still save something
  add_chunks(entity.id, columns, arrived_ns);
}

// The first one that may hold times of the entity's points.
std::optional<Packer::OldChunk> Packer::first_old_chunk(const Entity &entity) {
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  for (const Column &column : entity.columns) {
    first_ns = std::min(first_ns, column.times_ns.front());
    last_ns = std::max(last_ns, column.times_ns.back());
  }
  std::optional<OldChunk> found;
  old_chunk_.each(
      [&](const Row &row) {
        found = OldChunk{row.integer(0), row.integer(1),           row.integer(2),
                         row.integer(3), std::string(row.blob(4)), std::string(row.blob(5))};
      },
      entity.id, first_ns, last_ns);
  return found;
}

// Adds the points of a chunk to the columns; false, and nothing is added, if it is damaged.
bool Packer::merge(std::vector<Column> &columns, std::string_view head, std::string_view data, int64_t &work) {
  Values values;
  std::vector<Column> old;
  if (!reader_.open(head)) return false;
  reader_.set_data(data);
  for (const Part &part : reader_.parts()) {
    const Times *times = reader_.times(part);
    if (times == nullptr || !reader_.values(part, values)) return false;
    Column &column = old.emplace_back(Column{part.metric, times->times_ns, times->durations_ns, {}});
    for (size_t i = 0; i < column.size(); ++i) column.values.push_back(values.at(i));
  }
  for (Column &column : old) {
    work -= static_cast<int64_t>(column.size()) / kOldPointsAUnit + 1;
    const auto same =
        std::find_if(columns.begin(), columns.end(), [&](const Column &fresh) { return fresh.metric == column.metric; });
    if (same == columns.end()) {
      columns.push_back(std::move(column));
    } else {
      *same = merged(column, *same);
    }
  }
  return true;
}

void Packer::add_chunks(int64_t entity, std::span<Column> columns, int64_t arrived_ns) {
  std::sort(columns.begin(), columns.end(), [](const Column &a, const Column &b) { return a.metric < b.metric; });
  std::vector<size_t> begins(columns.size());
  std::vector<Column> parts;
  while (true) {
    // As far as each column has points enough for one chunk.
    int64_t last_ns = INT64_MAX;
    for (size_t i = 0; i < columns.size(); ++i)
      if (columns[i].size() - begins[i] > kPointsAChunk)
        last_ns = std::min(last_ns, columns[i].times_ns[begins[i] + kPointsAChunk - 1]);
    parts.clear();
    for (size_t i = 0; i < columns.size(); ++i) {
      const auto &times = columns[i].times_ns;
      const auto end = static_cast<size_t>(std::upper_bound(times.begin(), times.end(), last_ns) - times.begin());
      if (end > begins[i]) parts.push_back(part_of(columns[i], begins[i], end));
      begins[i] = end;
    }
    if (parts.empty()) return;
    encoder_.encode(parts, chunk_);
    add_chunk_.run(entity, chunk_.first_ns, chunk_.last_ns, arrived_ns, Blob{chunk_.head}, Blob{chunk_.data});
  }
}

void Packer::finish() {
  for (const Window &window : windows_)
    if (!window.is_damaged) pack_window_.run(window.id);
  delete_replaced();
  end_unfinished_.run();
  start_again();
  stage_ = Stage::choose;
}

void Packer::delete_replaced() {
  for (const int64_t chunk : replaced_) delete_chunk_.run(chunk);
  replaced_.clear();
}

void Packer::clean(int64_t &work) {
  delete_unfinished_.run(work);
  work -= database_.changes() + 1;
  if (work <= 0) return;
  end_unfinished_.run();
  stage_ = Stage::choose;
}

}  // namespace atalaya::store
