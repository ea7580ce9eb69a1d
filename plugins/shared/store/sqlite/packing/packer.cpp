// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/packing/packer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "plugins/shared/store/sqlite/file/schema.h"
#include "plugins/shared/store/sqlite/rows/block.h"

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
constexpr int64_t kSweptAtOnce = 32;        // windows

int64_t floor_to(int64_t time_ns, int64_t step) {
  const int64_t rest = time_ns % step;
  return time_ns - (rest < 0 ? rest + step : rest);
}
// A window belongs to the stretch of its end; an end on the border belongs to the stretch that ends there.
int64_t stretch_of(int64_t time_ns, int64_t length) {
  return floor_to(time_ns - 1, length);
}

// Windows with a damaged row are skipped until the writer ends, instead of being read again and again.
Database &with_damage_list(Database &database) {
  database.execute("CREATE TEMP TABLE IF NOT EXISTS damaged(window INTEGER PRIMARY KEY)");
  return database;
}

}  // namespace

Packer::Packer(Database &database, bool has_pools, Warn warn)
    : database_(with_damage_list(database)),
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
                 "SELECT id, time_ns, duration_ns, coalesce((SELECT l.arrived_ns FROM late_windows l WHERE l.window = w.id), "
                 "arrived_ns) FROM windows w WHERE packed = 0 AND time_ns > ?1 AND time_ns <= ?2 "
                 "AND id NOT IN temp.damaged ORDER BY time_ns, duration_ns LIMIT ?3"),
      // The content of a damaged window is unknown.
      find_rows_(database,
                 "SELECT w.id IN temp.damaged FROM windows w INDEXED BY windows_open CROSS JOIN samples s ON s.window = w.id AND "
                 "s.block = " +
                     first_row_from("w.id", "?1") +
                     " WHERE w.packed = 0 AND w.time_ns BETWEEN ?3 AND ?4 "
                     "AND (has_sample(s.fields, ?2) OR w.id IN temp.damaged) ORDER BY 1 DESC LIMIT 1"),
      next_chunk_(database, "SELECT seq + 1 FROM sqlite_sequence WHERE name = 'chunks'"),
      start_unfinished_(database, "INSERT INTO unfinished(chunk) VALUES(?1)"),
      end_unfinished_(database, "DELETE FROM unfinished"),
      delete_unfinished_(database,
                         "DELETE FROM chunks WHERE id IN "
                         "(SELECT id FROM chunks WHERE id >= (SELECT min(chunk) FROM unfinished) LIMIT ?1)"),
      leave_window_(database, "INSERT OR IGNORE INTO temp.damaged(window) VALUES(?1)"),
      pack_windows_(database, "UPDATE windows SET packed = 1 WHERE id BETWEEN ?1 AND ?2"),
      packed_window_(database, "SELECT id FROM windows WHERE packed > 0 AND packed = 1 LIMIT 1"),
      has_others_(database, "SELECT 1 FROM windows WHERE id BETWEEN ?1 AND ?2 AND packed <> 1 LIMIT 1"),
      has_more_(database, "SELECT 1 FROM samples WHERE window BETWEEN ?1 AND ?2 LIMIT 1 OFFSET ?3"),
      delete_all_samples_(database, "DELETE FROM samples WHERE window BETWEEN ?1 AND ?2"),
      delete_samples_(database,
                      "DELETE FROM samples WHERE window = ?1 AND block IN (SELECT block FROM samples WHERE window = ?1 LIMIT ?2)"),
      swept_windows_(database,
                     "UPDATE windows SET packed = 2 WHERE id IN (SELECT window FROM stacks WHERE window BETWEEN ?1 AND ?2) "
                     "AND packed = 1"),
      delete_windows_(database, "DELETE FROM windows WHERE id BETWEEN ?1 AND ?2 AND packed = 1"),
      forget_late_(database, "DELETE FROM late_windows WHERE window BETWEEN ?1 AND ?2 AND window NOT IN (SELECT id FROM windows)"),
      reader_(database, [this](OpenWindow &window) { exclude(window); }),
      writer_(database),
      pools_(database, writer_) {}

bool Packer::step(int64_t now_ns, int64_t work) {
  const int64_t all_work = work;
  if (stage_ == Stage::choose && !packed_window_.number() && !find_work(now_ns)) return false;
  Transaction transaction(database_);
  bool remaining_rows = sweep(work);
  while (!remaining_rows && work > 0 && stage_ != Stage::choose) {
    switch (stage_) {
      case Stage::choose:
        break;
      case Stage::read:
        if (reader_.read(work)) stage_ = Stage::encode;
        break;
      case Stage::encode:
        encode(work);
        break;
      case Stage::finish:
        // All at once; rather in a step of its own than at the end of one that has done its share.
        if (work < std::min(all_work, finish_cost())) remaining_rows = true;
        if (!remaining_rows) finish(work);
        break;
      case Stage::clean:
        clean(work);
        break;
    }
  }
  transaction.commit();
  return true;
}

void Packer::mark_written(int64_t window, int64_t time_ns) {
  touched_[stretch_of(time_ns, kStretch)] = batch_;
  if (touched_.size() > 2 * kQuietBatches)
    std::erase_if(touched_, [&](const auto &one) { return one.second + kQuietBatches < batch_; });
  discard(window);
}

void Packer::discard(int64_t window) {
  const auto windows = reader_.windows();
  const bool is_mine = std::any_of(windows.begin(), windows.end(), [&](const OpenWindow &one) { return one.id == window; });
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
  EntityPoints points{entity, std::move(columns), arrived_ns};
  writer_.put(points, Effort::full);
  writer_.delete_replaced();
}

void Packer::forget() {
  start_again();
}

void Packer::start_again() {
  reader_.clear();
  points_ = {};
  writer_.forget();
  pools_.forget();
  stage_ = Stage::clean;
}

// Deletes the rows of windows that are packed, of many neighbours at once where all of them are; true: some are left.
bool Packer::sweep(int64_t &work) {
  while (work > 0) {
    const auto first = packed_window_.number();
    if (!first) return false;
    int64_t last = *first + kSweptAtOnce - 1;
    if (has_others_.number(*first, last) || has_more_.number(*first, last, work)) last = *first;
    if (last == *first && has_more_.number(*first, last, work)) {
      delete_samples_.run(*first, work);
      work -= database_.changes() + 1;
      continue;
    }
    delete_all_samples_.run(*first, last);
    work -= database_.changes() + 1;
    swept_windows_.run(*first, last);
    delete_windows_.run(*first, last);
    forget_late_.run(*first, last);
  }
  return true;
}

bool Packer::has_no_recent_writes(int64_t begin_ns, int64_t end_ns) const {
  for (auto slot = touched_.lower_bound(begin_ns); slot != touched_.end() && slot->first < end_ns; ++slot)
    if (slot->second + kQuietBatches > batch_) return false;
  return true;
}

// To look for the last arrival reads all windows of the stretch: not again before it can be long ago.
bool Packer::is_settled(int64_t begin_ns, int64_t end_ns, int64_t now_ns) {
  Unsettled &last = unsettled_;
  if (last.begin_ns == begin_ns && last.end_ns == end_ns && now_ns >= last.checked_ns && now_ns < last.until_ns) return false;
  const int64_t arrived_ns = last_arrival_.number(begin_ns, end_ns, now_ns).value_or(INT64_MIN);
  if (arrived_ns <= now_ns - kSettled) return true;
  last = {begin_ns, end_ns, now_ns, arrived_ns + kSettled};
  return false;
}

// To look costs as much as some hundred samples: not after each of many batches in vain.
bool Packer::find_work(int64_t now_ns) {
  const bool is_soon = batch_ < checked_batch_ + kBatchesALook && now_ns >= checked_ns_ && now_ns < checked_ns_ + kMinute;
  if (is_soon || choose(now_ns)) return !is_soon;
  checked_batch_ = batch_;
  checked_ns_ = now_ns;
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
    if (end_ns <= latest_ns - kGrace && has_no_recent_writes(begin_ns, end_ns) && is_settled(begin_ns, end_ns, now_ns)) {
      begin(begin_ns, end_ns);
      return true;
    }
    after_ns = stretch_of(*first, kStretch) + kStretch;
  }
  return false;
}

void Packer::begin(int64_t begin_ns, int64_t end_ns) {
  std::vector<OpenWindow> windows;
  list_open_.each(
      [&](const Row &row) {
        windows.push_back({row.integer(0), row.integer(1), row.integer(2), row.integer(3)});
      },
      begin_ns, end_ns, static_cast<int64_t>(kMaxWindows));
  reader_.begin(std::move(windows));
  start_unfinished_.run(next_chunk_.number().value_or(1));
  pools_.begin(begin_ns, end_ns, has_pools_);
  stage_ = Stage::read;
}

// The readable part of the window is in chunks, too; its rows win over them, and nothing is deleted that may be recovered.
void Packer::exclude(OpenWindow &window) {
  window.is_damaged = true;
  leave_window_.run(window.id);
  if (std::exchange(has_warned_, true) || !warn_) return;
  warn_(
      "a row of the window " + std::to_string(window.id) + " in the table samples of database " + database_.path() +
      " has something that is no number: the rows of such windows stay as they are, not compressed. Delete that window's rows, or "
      "restore the database from a copy");
}

void Packer::encode(int64_t &work) {
  for (int64_t rows = 0;;) {
    for (; !points_.columns.empty(); writer_.put_next(points_, work, Effort::quick))
      if (work <= 0) return;
    if (!reader_.take(points_, rows)) break;
    work -= rows / 4 + 1;
    if (pools_.wants(points_, rows)) pools_.add(std::exchange(points_, {}));
  }
  pools_.flush();
  stage_ = reader_.next() ? Stage::read : Stage::finish;
}

int64_t Packer::finish_cost() const {
  return static_cast<int64_t>(reader_.windows().size()) / 2 + writer_.replaced();
}

void Packer::finish(int64_t &work) {
  work -= finish_cost();
  pack_windows();
  writer_.delete_replaced();
  end_unfinished_.run();
  start_again();
  stage_ = Stage::choose;
}

// A statement for windows with successive ids, which most are.
void Packer::pack_windows() {
  int64_t first = 0, last = -1;
  for (const OpenWindow &window : reader_.windows()) {
    if (window.is_damaged) continue;
    if (window.id != last + 1) {
      if (last >= first) pack_windows_.run(first, last);
      first = window.id;
    }
    last = window.id;
  }
  if (last >= first) pack_windows_.run(first, last);
}

void Packer::clean(int64_t &work) {
  delete_unfinished_.run(work);
  work -= database_.changes() + 1;
  if (work <= 0) return;
  end_unfinished_.run();
  stage_ = Stage::choose;
}

}  // namespace atalaya::store
