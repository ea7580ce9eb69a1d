// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/packer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "plugins/shared/store/sqlite/rows/block.h"
#include "plugins/shared/store/sqlite/schema.h"

namespace atalaya::store {
namespace {

constexpr int64_t kMinute = 60'000'000'000;
constexpr int64_t kStretch = 10 * kMinute;
// A stretch that is long enough for good chunks and short enough that they often lie within one step of a long query.
constexpr std::array kStretches = {kStretch, 60 * kMinute, 360 * kMinute, 1440 * kMinute};
constexpr int64_t kEnoughWindows = 300;
constexpr size_t kMaxWindows = 20'000;
constexpr int64_t kGrace = kMinute;         // for batches that are late
constexpr int64_t kSettled = 10 * kMinute;  // recent arrivals stay rows for plain SQL, whatever their time
constexpr uint64_t kQuietBatches = 32;      // that did not write to a stretch
constexpr uint64_t kBatchesALook = 32;      // before it is looked again for something to pack
constexpr int kLooks = 16;                  // stretches that are checked per step
constexpr size_t kSliceBytes = 1 << 20;     // of rows, read before they become chunks: some megabytes in memory
constexpr size_t kFewPoints = 128 << 10;    // the same
constexpr size_t kPointsAColumn = 8;        // that take as much memory as a column without points
constexpr size_t kBytesAPoint = 8;          // of a row, about

int64_t floor_to(int64_t time_ns, int64_t step) {
  const int64_t rest = time_ns % step;
  return time_ns - (rest < 0 ? rest + step : rest);
}
// A window belongs to the stretch of its end; an end on the border belongs to the stretch that ends there.
int64_t stretch_of(int64_t time_ns, int64_t length) {
  return floor_to(time_ns - 1, length);
}

// Windows with a damaged row are skipped until the writer ends, instead of being read again and again.
Database &with_list_of_damaged(Database &database) {
  database.execute("CREATE TEMP TABLE IF NOT EXISTS damaged(window INTEGER PRIMARY KEY)");
  return database;
}

}  // namespace

Packer::Packer(Database &database, bool has_pools, Warn warn)
    : database_(with_list_of_damaged(database)),
      has_pools_(has_pools),
      warn_(std::move(warn)),
      first_open_(database, "SELECT min(time_ns) FROM windows WHERE packed = 0 AND time_ns > ?1 AND id NOT IN temp.damaged"),
      last_time_(database, "SELECT max(time_ns) FROM (" + select_windows("max(time_ns) AS time_ns", "") + ")"),
      count_open_(database,
                  "SELECT count(*) FROM (SELECT 1 FROM windows WHERE packed = 0 AND time_ns > ?1 AND time_ns <= ?2 "
                  "AND id NOT IN temp.damaged LIMIT ?3)"),
      last_arrival_(database,
                    "SELECT max(arrived_ns) FROM windows WHERE packed = 0 AND time_ns > ?1 AND time_ns <= ?2 AND arrived_ns <= ?3"),
      list_open_(database,
                 "SELECT id, time_ns, duration_ns, arrived_ns FROM windows WHERE packed = 0 AND time_ns > ?1 AND time_ns <= ?2 "
                 "AND id NOT IN temp.damaged ORDER BY time_ns, duration_ns LIMIT ?3"),
      list_rows_(database, "SELECT fields FROM samples WHERE window = ?1"),
      read_rows_(database,
                 "SELECT fields FROM samples WHERE window = ?1 AND block BETWEEN " + first_row_from("?1", "?2") + " AND ?3"),
      // The content of a damaged window is unknown.
      find_rows_(database,
                 "SELECT w.id IN temp.damaged FROM windows w INDEXED BY windows_open CROSS JOIN samples s ON s.window = w.id AND "
                 "s.block = " +
                     first_row_from("w.id", "?1") +
                     " WHERE w.packed = 0 AND w.time_ns BETWEEN ?3 AND ?4 "
                     "AND (instr(s.fields, '\"' || ?2 || '\":{') > 0 OR w.id IN temp.damaged) ORDER BY 1 DESC LIMIT 1"),
      next_chunk_(database, "SELECT seq + 1 FROM sqlite_sequence WHERE name = 'chunks'"),
      begin_unfinished_(database, "INSERT INTO unfinished(chunk) VALUES(?1)"),
      end_unfinished_(database, "DELETE FROM unfinished"),
      delete_unfinished_(database,
                         "DELETE FROM chunks WHERE id IN "
                         "(SELECT id FROM chunks WHERE id >= (SELECT min(chunk) FROM unfinished) LIMIT ?1)"),
      leave_window_(database, "INSERT OR IGNORE INTO temp.damaged(window) VALUES(?1)"),
      pack_window_(database, "UPDATE windows SET packed = 1 WHERE id = ?1"),
      packed_window_(database, "SELECT id FROM windows WHERE packed > 0 AND packed = 1 LIMIT 1"),
      has_more_(database, "SELECT 1 FROM samples WHERE window = ?1 LIMIT 1 OFFSET ?2"),
      delete_all_samples_(database, "DELETE FROM samples WHERE window = ?1"),
      delete_samples_(database,
                      "DELETE FROM samples WHERE window = ?1 AND block IN (SELECT block FROM samples WHERE window = ?1 LIMIT ?2)"),
      has_stacks_(database, "SELECT 1 FROM stacks WHERE window = ?1 LIMIT 1"),
      delete_window_(database, "DELETE FROM windows WHERE id = ?1"),
      swept_window_(database, "UPDATE windows SET packed = 2 WHERE id = ?1"),
      writer_(database),
      pools_(database, writer_) {}

bool Packer::step(int64_t now_ns, int64_t work) {
  const int64_t all_work = work;
  if (stage_ == Stage::choose && !packed_window_.number() && !look_for_work(now_ns)) return false;
  Transaction transaction(database_);
  bool rows_left = sweep(work);
  while (!rows_left && work > 0 && stage_ != Stage::choose) {
    switch (stage_) {
      case Stage::choose:
        break;
      case Stage::read_all:
        read_all(work);
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
        // All at once; rather in a step of its own than at the end of one that has done its share.
        if (work < std::min(all_work, cost_of_finish())) rows_left = true;
        if (!rows_left) finish(work);
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

Packer::Rows Packer::rows_of(int64_t entity, int64_t first_ns, int64_t last_ns) {
  const auto found = find_rows_.number(block_of(entity), entity, first_ns, last_ns);
  if (!found) return Rows::none;
  return *found == 0 ? Rows::some : Rows::damaged;
}

void Packer::put(int64_t entity, std::vector<Column> columns, int64_t arrived_ns) {
  // Chunks that are added while others are unfinished would not count.
  if (stage_ != Stage::choose) {
    start_again();
    int64_t all = INT64_MAX;
    clean(all);
  }
  PointsOfEntity points{entity, std::move(columns), arrived_ns};
  writer_.put(points, Effort::full);
  writer_.delete_replaced();
}

void Packer::forget() {
  start_again();
}

void Packer::start_again() {
  windows_.clear();
  entities_.clear();
  slice_.clear();
  writer_.forget();
  pools_.forget();
  stage_ = Stage::clean;
}

// Deletes the rows of windows that are packed; true: some are left.
bool Packer::sweep(int64_t &work) {
  while (work > 0) {
    const auto window = packed_window_.number();
    if (!window) return false;
    if (has_more_.number(*window, work)) {
      delete_samples_.run(*window, work);
      work -= database_.changes() + 1;
      continue;
    }
    delete_all_samples_.run(*window);
    work -= database_.changes() + 1;
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

// To look costs as much as some hundred samples: not after each of many batches in vain.
bool Packer::look_for_work(int64_t now_ns) {
  const bool is_soon = batch_ < looked_batch_ + kBatchesALook && now_ns >= looked_ns_ && now_ns < looked_ns_ + kMinute;
  if (is_soon || choose(now_ns)) return !is_soon;
  looked_batch_ = batch_;
  looked_ns_ = now_ns;
  return false;
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
      begin_ns, end_ns, static_cast<int64_t>(kMaxWindows));
  begin_unfinished_.run(next_chunk_.number().value_or(1));
  pools_.begin(begin_ns, end_ns, has_pools_);
  at_window_ = points_ = 0;
  stage_ = are_few_ ? Stage::read_all : Stage::survey;
}

void Packer::read_all(int64_t &work) {
  for (; at_window_ < windows_.size(); ++at_window_) {
    if (work <= 0) return;
    if (points_ > kFewPoints) return begin_survey();
    Window &window = windows_[at_window_];
    --work;
    list_rows_.each(
        [&](const Row &row) {
          if (!add_whole_block(window, row.text(0), work)) leave(window);
        },
        window.id);
  }
  at_slice_ = 0;
  stage_ = Stage::encode;
}

bool Packer::add_whole_block(Window &window, std::string_view block, int64_t &work) {
  BlockReader samples(block);
  bool are_good = true;
  const auto has_less = [](const Entity &entity, int64_t id) { return entity.points.id < id; };
  auto entity = slice_.begin();
  for (; samples.next(); ++entity, --work) {
    // The next one nearly always.
    if (entity == slice_.end() || entity->points.id != samples.entity())
      entity = std::lower_bound(slice_.begin(), slice_.end(), samples.entity(), has_less);
    if (entity == slice_.end() || entity->points.id != samples.entity())
      entity = slice_.insert(entity, Entity{{samples.entity(), {}}});
    are_good = add_row(*entity, window, samples.fields()) && are_good;
  }
  return are_good && !samples.damaged();
}

// Of more points than memory is for.
void Packer::begin_survey() {
  slice_.clear();
  entities_.clear();
  at_window_ = points_ = 0;
  are_few_ = false;
  stage_ = Stage::survey;
}

void Packer::survey(int64_t &work) {
  for (; at_window_ < windows_.size(); ++at_window_) {
    if (work <= 0) return;
    Window &window = windows_[at_window_];
    list_rows_.each(
        [&](const Row &row) {
          BlockReader samples(row.text(0));
          for (; samples.next(); --work) {
            Size &size = entities_[samples.entity()];
            size.bytes += samples.fields().size();
            ++size.samples;
            points_ += samples.fields().size() / kBytesAPoint;
          }
          if (samples.damaged()) leave(window);  // it may lie beyond all that will be read
        },
        window.id);
  }
  are_few_ = points_ < kFewPoints / 2;
  begin_slice();
}

// As much as fits in memory, and no less than there are windows: each slice looks into every one of them.
void Packer::begin_slice() {
  slice_.clear();
  at_window_ = at_slice_ = 0;
  Size size;
  while (!entities_.empty() && (size.bytes < kSliceBytes || size.samples < windows_.size())) {
    const auto &[entity, more] = *entities_.begin();
    slice_.push_back({{entity, {}}});
    size.bytes += more.bytes;
    size.samples += more.samples;
    entities_.erase(entities_.begin());
  }
  stage_ = slice_.empty() ? Stage::finish : Stage::read;
}

void Packer::read(int64_t &work) {
  for (; at_window_ < windows_.size(); ++at_window_) {
    if (work <= 0) return;
    Window &window = windows_[at_window_];
    --work;
    read_rows_.each(
        [&](const Row &row) {
          if (!add_block(window, row.text(0), work)) leave(window);
        },
        window.id, block_of(slice_.front().points.id), block_of(slice_.back().points.id));
  }
  stage_ = Stage::encode;
}

bool Packer::add_block(Window &window, std::string_view block, int64_t &work) {
  BlockReader samples(block);
  bool are_good = true;
  auto entity = slice_.begin();
  while (samples.next()) {
    while (entity != slice_.end() && entity->points.id < samples.entity()) ++entity;
    if (entity == slice_.end()) break;
    if (entity->points.id != samples.entity()) continue;
    are_good = add_row(*entity, window, samples.fields()) && are_good;
    --work;
  }
  return are_good && !samples.damaged();
}

bool Packer::add_row(Entity &entity, const Window &window, std::string_view fields) {
  ++entity.rows;
  entity.points.arrived_ns = std::max(entity.points.arrived_ns, window.arrived_ns);
  FieldReader reader(fields);
  while (reader.next()) {
    std::vector<Column> &columns = entity.points.columns;
    // Samples of an entity have their fields in the same order nearly always.
    if (entity.next >= columns.size() || columns[entity.next].metric != reader.metric()) {
      const auto found =
          std::find_if(columns.begin(), columns.end(), [&](const Column &column) { return column.metric == reader.metric(); });
      entity.next = static_cast<size_t>(found - columns.begin());
      if (found == columns.end()) {
        columns.emplace_back().metric = reader.metric();
        points_ += kPointsAColumn;
      }
    }
    columns[entity.next++].add(window.time_ns, window.duration_ns, reader.value());
    ++points_;
  }
  entity.next = 0;
  return !reader.damaged();
}

// The readable part of the window is in chunks, too; its rows win over them, and nothing is deleted that may be recovered.
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
    if (pools_.wants(entity.points, entity.rows)) pools_.add(std::move(entity.points));
    for (; !entity.points.columns.empty(); writer_.put_next(entity.points, work, Effort::quick))
      if (work <= 0) return;
    work -= entity.rows / 4 + 1;
  }
  pools_.flush();
  begin_slice();
}

int64_t Packer::cost_of_finish() const {
  return static_cast<int64_t>(windows_.size()) / 2 + writer_.replaced();
}

void Packer::finish(int64_t &work) {
  work -= cost_of_finish();
  for (const Window &window : windows_)
    if (!window.is_damaged) pack_window_.run(window.id);
  writer_.delete_replaced();
  end_unfinished_.run();
  start_again();
  stage_ = Stage::choose;
}

void Packer::clean(int64_t &work) {
  delete_unfinished_.run(work);
  work -= database_.changes() + 1;
  if (work <= 0) return;
  end_unfinished_.run();
  stage_ = Stage::choose;
}

}  // namespace atalaya::store
