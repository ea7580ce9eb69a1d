// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/packing/slice_reader.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "plugins/shared/store/sqlite/rows/block.h"

namespace atalaya::store {
namespace {

constexpr size_t kSlicePoints = 128 << 10;     // read before they become chunks: some megabytes in memory
constexpr size_t kBlockEndPoints = 512 << 10;  // up to the end of a block: two slices with parts of a row both read all of it
constexpr size_t kPointsAColumn = 10;          // that take as much memory as a column without points
constexpr size_t kBytesAPoint = 5;             // of a row until schema 8, about

}  // namespace

void CompactColumn::add(size_t window, const Number &value) {
  places.push_back(static_cast<uint32_t>(window << 1 | (value.is_count ? 1 : 0)));
  values.push_back(value.bits());
}

Column CompactColumn::column(std::span<const OpenWindow> windows) const {
  Column all;
  all.metric = metric;
  all.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const OpenWindow &window = windows[places[i] >> 1];
    Number value;
    value.is_count = (places[i] & 1) != 0;
    if (value.is_count)
      value.count = static_cast<int64_t>(values[i]);
    else
      value.real = std::bit_cast<double>(values[i]);
    all.add(window.time_ns, window.duration_ns, value);
  }
  return all;
}

SliceReader::SliceReader(Database &database, OnDamagedWindow damaged)
    : damaged_(std::move(damaged)),
      list_rows_(database, "SELECT fields FROM samples WHERE window = ?1"),
      read_rows_(database,
                 "SELECT fields FROM samples WHERE window = ?1 AND block BETWEEN " + first_row_from("?1", "?2") + " AND ?3") {}

void SliceReader::begin(std::vector<OpenWindow> windows) {
  clear();
  windows_ = std::move(windows);
  at_window_ = points_ = 0;
  stage_ = are_few_ ? Stage::all : Stage::listing;
}

void SliceReader::clear() {
  windows_.clear();
  entities_.clear();
  slice_.clear();
  removed_count_ = reserved_ = 0;
}

bool SliceReader::take(EntityPoints &points, int64_t &rows) {
  if (removed_count_ == slice_.size()) return false;
  Entity &entity = slice_[removed_count_++];
  points = {entity.id, {}, entity.arrived_ns};
  points.columns.reserve(entity.columns.size());
  rows = entity.rows;
  for (CompactColumn &column : entity.columns) points.columns.push_back(std::exchange(column, {}).column(windows_));
  return true;
}

bool SliceReader::read(int64_t &work) {
  if (stage_ == Stage::all) read_all(work);
  if (stage_ == Stage::listing) listing(work);
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
          const bool is_too_much = points_ > kSlicePoints;
          if (!is_too_much && !add_whole_block(row.text(0), work)) damaged_(window);
        },
        window.id);
    if (points_ > kSlicePoints) return start_listing();
  }
  complete();
}

std::vector<SliceReader::Entity>::iterator SliceReader::place_of(int64_t id) {
  return std::lower_bound(slice_.begin(), slice_.end(), id, [](const Entity &one, int64_t wanted) { return one.id < wanted; });
}

bool SliceReader::add_whole_block(std::string_view block, int64_t &work) {
  BlockReader samples(block);
  bool are_good = true;
  auto entity = slice_.begin();
  for (; samples.next(); ++entity, --work) {
    const int64_t id = samples.entity();
    // The next one nearly always.
    if (entity == slice_.end() || entity->id != id) entity = place_of(id);
    if (entity == slice_.end() || entity->id != id) entity = slice_.insert(entity, Entity{id});
    are_good = add_row(*entity, samples.fields()) && are_good;
  }
  return are_good && !samples.damaged();
}

// Of more points than memory is for.
void SliceReader::start_listing() {
  slice_.clear();
  entities_.clear();
  at_window_ = points_ = removed_count_ = reserved_ = 0;
  are_few_ = false;
  stage_ = Stage::listing;
}

void SliceReader::listing(int64_t &work) {
  for (; at_window_ < windows_.size(); ++at_window_) {
    if (work <= 0) return;
    OpenWindow &window = windows_[at_window_];
    list_rows_.each(
        [&](const Row &row) {
          BlockReader samples(row.text(0));
          auto at = entities_.end();
          for (; samples.next(); ++at, --work) {
            // The next one nearly always.
            if (at == entities_.end() || at->first != samples.entity()) at = entities_.try_emplace(samples.entity()).first;
            Size &size = at->second;
            const SampleFields fields = samples.fields();
            const size_t fresh = fields.metrics.empty() ? fields.text.size() / kBytesAPoint + 1 : fields.metrics.size();
            const size_t points = size.samples == 0 ? fresh * (1 + kPointsAColumn) : fresh;
            size.points += points;
            ++size.samples;
            points_ += points;
          }
          if (samples.damaged()) damaged_(window);  // it may lie beyond all that will be read
        },
        window.id);
  }
  are_few_ = points_ < kSlicePoints / 2;
  next();
}

// As much as fits in memory, and no less than there are windows: each slice looks into every one of them.
bool SliceReader::has_room(const Size &size, int64_t entity) const {
  if (size.points < kSlicePoints || size.samples < windows_.size()) return true;
  return size.points < kBlockEndPoints && block_of(entity) == block_of(slice_.back().id);
}

bool SliceReader::next() {
  slice_.clear();
  at_window_ = removed_count_ = reserved_ = 0;
  Size size;
  while (!entities_.empty() && has_room(size, entities_.begin()->first)) {
    const auto &[entity, more] = *entities_.begin();
    slice_.push_back({entity});
    size.points += more.points;
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
          if (!add_block(row.text(0), work)) damaged_(window);
        },
        window.id, block_of(slice_.front().id), block_of(slice_.back().id));
  }
  complete();
}

bool SliceReader::add_block(std::string_view block, int64_t &work) {
  BlockReader samples(block);
  bool are_good = true;
  auto entity = slice_.begin();
  for (bool is_first = true; samples.next(); is_first = false) {
    if (is_first) entity = place_of(samples.entity());
    while (entity != slice_.end() && entity->id < samples.entity()) ++entity;
    if (entity == slice_.end()) break;
    if (entity->id != samples.entity()) continue;
    are_good = add_row(*entity, samples.fields()) && are_good;
    --work;
  }
  return are_good && !samples.damaged();
}

bool SliceReader::add_row(Entity &entity, const SampleFields &fields) {
  ++entity.rows;
  entity.arrived_ns = std::max(entity.arrived_ns, windows_[at_window_].arrived_ns);
  FieldReader reader(fields);
  while (reader.next()) {
    std::vector<CompactColumn> &columns = entity.columns;
    // Samples of an entity have their fields in the same order nearly always.
    if (entity.next >= columns.size() || columns[entity.next].metric != reader.metric()) {
      const auto found = std::find_if(columns.begin(), columns.end(),
                                      [&](const CompactColumn &column) { return column.metric == reader.metric(); });
      entity.next = static_cast<size_t>(found - columns.begin());
      if (found == columns.end()) add_column(entity, reader.metric());
    }
    columns[entity.next++].add(at_window_, reader.value());
    ++points_;
  }
  entity.next = 0;
  return !reader.damaged();
}

// With memory for the likely points at once, as long as that is not too much.
void SliceReader::add_column(Entity &entity, int64_t metric) {
  CompactColumn &column = entity.columns.emplace_back();
  column.metric = metric;
  points_ += kPointsAColumn;
  if (reserved_ + expected_points_ > kSlicePoints) return;
  column.places.reserve(expected_points_);
  column.values.reserve(expected_points_);
  reserved_ += expected_points_;
}

void SliceReader::complete() {
  size_t columns = 0, points = 0;
  for (const Entity &entity : slice_) {
    columns += entity.columns.size();
    for (const CompactColumn &column : entity.columns) points += column.values.size();
  }
  expected_points_ = columns > 0 ? points / columns : 0;
  stage_ = Stage::complete;
}

}  // namespace atalaya::store
