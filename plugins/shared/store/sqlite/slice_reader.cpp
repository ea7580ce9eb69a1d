// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/slice_reader.h"

#include <algorithm>
#include <utility>

#include "plugins/shared/store/sqlite/rows/block.h"

namespace atalaya::store {
namespace {

constexpr size_t kSliceBytes = 512 << 10;  // of rows, read before they become chunks: some megabytes in memory
constexpr size_t kFewPoints = 128 << 10;   // the same
constexpr size_t kPointsAColumn = 8;       // that take as much memory as a column without points
constexpr size_t kBytesAPoint = 5;         // of a row, about

}  // namespace

SliceReader::SliceReader(Database &database, Damaged damaged)
    : damaged_(std::move(damaged)),
      list_rows_(database, "SELECT fields FROM samples WHERE window = ?1"),
      read_rows_(database,
                 "SELECT fields FROM samples WHERE window = ?1 AND block BETWEEN " + first_row_from("?1", "?2") + " AND ?3") {}

void SliceReader::begin(std::vector<OpenWindow> windows) {
  clear();
  windows_ = std::move(windows);
  at_window_ = points_ = 0;
  stage_ = are_few_ ? Stage::all : Stage::survey;
}

void SliceReader::clear() {
  windows_.clear();
  entities_.clear();
  slice_.clear();
  reserved_ = 0;
}

bool SliceReader::read(int64_t &work) {
  if (stage_ == Stage::all) read_all(work);
  if (stage_ == Stage::survey) survey(work);
  if (stage_ == Stage::slice) read_slice(work);
  return stage_ == Stage::complete;
}

void SliceReader::read_all(int64_t &work) {
  for (; at_window_ < windows_.size(); ++at_window_) {
    if (work <= 0) return;
    OpenWindow &window = windows_[at_window_];
    --work;
    list_rows_.each(
        [&](const Row &row) {
          const bool is_too_much = points_ > kFewPoints;
          if (!is_too_much && !add_whole_block(window, row.text(0), work)) damaged_(window);
        },
        window.id);
    if (points_ > kFewPoints) return begin_survey();
  }
  complete();
}

bool SliceReader::add_whole_block(const OpenWindow &window, std::string_view block, int64_t &work) {
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
void SliceReader::begin_survey() {
  slice_.clear();
  entities_.clear();
  at_window_ = points_ = reserved_ = 0;
  are_few_ = false;
  stage_ = Stage::survey;
}

void SliceReader::survey(int64_t &work) {
  for (; at_window_ < windows_.size(); ++at_window_) {
    if (work <= 0) return;
    OpenWindow &window = windows_[at_window_];
    list_rows_.each(
        [&](const Row &row) {
          BlockReader samples(row.text(0));
          for (; samples.next(); --work) {
            Size &size = entities_[samples.entity()];
            const size_t bytes = samples.fields().text.size() + (size.samples == 0 ? kPointsAColumn * kBytesAPoint : 0);
            size.bytes += bytes;
            ++size.samples;
            points_ += bytes / kBytesAPoint;
          }
          if (samples.damaged()) damaged_(window);  // it may lie beyond all that will be read
        },
        window.id);
  }
  are_few_ = points_ < kFewPoints / 2;
  next();
}

// As much as fits in memory, and no less than there are windows: each slice looks into every one of them.
bool SliceReader::next() {
  slice_.clear();
  at_window_ = reserved_ = 0;
  Size size;
  while (!entities_.empty() && (size.bytes < kSliceBytes || size.samples < windows_.size())) {
    const auto &[entity, more] = *entities_.begin();
    slice_.push_back({{entity, {}}});
    size.bytes += more.bytes;
    size.samples += more.samples;
    entities_.erase(entities_.begin());
  }
  stage_ = slice_.empty() ? Stage::complete : Stage::slice;
  return !slice_.empty();
}

void SliceReader::read_slice(int64_t &work) {
  for (; at_window_ < windows_.size(); ++at_window_) {
    if (work <= 0) return;
    OpenWindow &window = windows_[at_window_];
    --work;
    read_rows_.each(
        [&](const Row &row) {
          if (!add_block(window, row.text(0), work)) damaged_(window);
        },
        window.id, block_of(slice_.front().points.id), block_of(slice_.back().points.id));
  }
  complete();
}

bool SliceReader::add_block(const OpenWindow &window, std::string_view block, int64_t &work) {
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

bool SliceReader::add_row(Entity &entity, const OpenWindow &window, const SampleFields &fields) {
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
      if (found == columns.end()) add_column(entity, reader.metric());
    }
    columns[entity.next++].add(window.time_ns, window.duration_ns, reader.value());
    ++points_;
  }
  entity.next = 0;
  return !reader.damaged();
}

// With memory for the likely points at once, as long as that is not too much.
void SliceReader::add_column(Entity &entity, int64_t metric) {
  Column &column = entity.points.columns.emplace_back();
  column.metric = metric;
  points_ += kPointsAColumn;
  if (reserved_ + likely_ > kFewPoints) return;
  column.reserve(likely_);
  reserved_ += likely_;
}

void SliceReader::complete() {
  size_t columns = 0, points = 0;
  for (const Entity &entity : slice_) {
    columns += entity.points.columns.size();
    for (const Column &column : entity.points.columns) points += column.size();
  }
  likely_ = columns > 0 ? points / columns : 0;
  stage_ = Stage::complete;
}

}  // namespace atalaya::store
