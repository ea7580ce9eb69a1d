// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/chunks/chunk_writer.h"

#include <algorithm>
#include <utility>

#include "plugins/shared/store/sqlite/names/entity_times.h"

namespace atalaya::store {
namespace {

constexpr size_t kPointsAChunk = 8192;   // more of a series are split
constexpr int64_t kOldPointsAUnit = 16;  // of a chunk that is merged: decoded and encoded again for a unit of work

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

}  // namespace

ChunkWriter::ChunkWriter(Database &database)
    : old_chunk_(
          database,
          "SELECT id, first_ns, last_ns, arrived_ns, head, data FROM chunks WHERE entity = ?1 AND last_ns >= ?2 AND first_ns <= ?3 "
          "AND id < coalesce((SELECT min(chunk) FROM unfinished), 9223372036854775807) ORDER BY last_ns LIMIT 1"),
      add_chunk_(database, "INSERT INTO chunks(entity, first_ns, last_ns, arrived_ns, head, data) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"),
      delete_chunk_(database, "DELETE FROM chunks WHERE id = ?1"),
      // An entity is deleted when all that arrived until then is.
      mark_seen_(database, "UPDATE entity_rows SET seen_s = ?2 WHERE id = ?1 AND seen_s < ?2") {}

// Late points for the time of an existing chunk: a new chunk replaces that one. Chunks in between, and their
// points, are left alone.
void ChunkWriter::put_next(EntityPoints &entity, int64_t &work, Effort effort) {
  const auto old = first_old_chunk(entity);
  if (!old) {
    add_chunks(entity.id, entity.columns, entity.arrived_ns, effort);
    entity.columns.clear();
    return;
  }
  if (std::vector<Column> before = take_until(entity.columns, old->first_ns - 1); !before.empty())
    return add_chunks(entity.id, before, entity.arrived_ns, effort);
  std::vector<Column> columns = take_until(entity.columns, old->last_ns);
  int64_t arrived_ns = entity.arrived_ns;
  if (merge(columns, old->head, old->data, work)) {
    replaced_.push_back(old->id);
    arrived_ns = std::max(arrived_ns, old->arrived_ns);
  }  // else it is damaged: it stays, so that its content may be recovered
  add_chunks(entity.id, columns, arrived_ns, effort);
}

void ChunkWriter::put(EntityPoints &entity, Effort effort) {
  int64_t work = INT64_MAX;
  while (!entity.columns.empty()) put_next(entity, work, effort);
}

// The first one that may hold times of the entity's points.
std::optional<ChunkWriter::OldChunk> ChunkWriter::first_old_chunk(const EntityPoints &entity) {
  TimeInterval time_interval;
  for (const Column &column : entity.columns) time_interval.add(column);
  std::optional<OldChunk> found;
  old_chunk_.each(
      [&](const Row &row) {
        found = OldChunk{row.integer(0), row.integer(1),           row.integer(2),
                         row.integer(3), std::string(row.blob(4)), std::string(row.blob(5))};
      },
      entity.id, time_interval.first_ns, time_interval.last_ns);
  return found;
}

// Adds the points of a chunk to the columns; false, and nothing is added, if it is damaged.
bool ChunkWriter::merge(std::vector<Column> &columns, std::string_view head, std::string_view data, int64_t &work) {
  if (!reader_.open(head)) return false;
  reader_.set_data(data);
  auto old = columns_of(reader_);
  if (!old) return false;
  for (Column &column : *old) {
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

void ChunkWriter::add_chunks(int64_t entity, std::span<Column> columns, int64_t arrived_ns, Effort effort) {
  std::sort(columns.begin(), columns.end(), [](const Column &a, const Column &b) { return a.metric < b.metric; });
  const auto fits = [](const Column &column) { return column.size() > 0 && column.size() <= kPointsAChunk; };
  if (!columns.empty() && std::all_of(columns.begin(), columns.end(), fits)) return add_chunk(entity, columns, arrived_ns, effort);
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
    add_chunk(entity, parts, arrived_ns, effort);
  }
}

void ChunkWriter::add_chunk(int64_t entity, std::span<const Column> columns, int64_t arrived_ns, Effort effort) {
  encoder_.encode(columns, chunk_, effort);
  add_chunk_.run(entity, chunk_.first_ns, chunk_.last_ns, arrived_ns, Blob{chunk_.head}, Blob{chunk_.data});
  mark_seen_.run(entity, ceil_s(arrived_ns));
}

void ChunkWriter::delete_replaced() {
  for (const int64_t chunk : replaced_) delete_chunk_.run(chunk);
  replaced_.clear();
}

}  // namespace atalaya::store
