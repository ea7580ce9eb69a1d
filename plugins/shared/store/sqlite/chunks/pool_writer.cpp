// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/chunks/pool_writer.h"

#include <algorithm>
#include <utility>

#include "plugins/shared/store/sqlite/names/entity_times.h"

namespace atalaya::store {
namespace {

constexpr int64_t kFewRows = 64;
constexpr size_t kFewColumns = 64;
constexpr size_t kFewest = 8;  // members
constexpr size_t kPoolBytes = 64 << 10;

}  // namespace

PoolWriter::PoolWriter(Database &database, ChunkWriter &chunks)
    : chunks_(chunks),
      find_new_(
          database,
          "SELECT 1 FROM entity_rows WHERE id = ?1 AND first_s >= ?2 AND NOT EXISTS (SELECT 1 FROM chunks WHERE entity = ?1)"),
      find_pools_(database,
                  "SELECT head FROM chunks WHERE entity = ?1 AND last_ns >= ?2 AND first_ns <= ?3 "
                  "AND id < coalesce((SELECT min(chunk) FROM unfinished), 9223372036854775807)"),
      add_(database, "INSERT INTO chunks(entity, first_ns, last_ns, arrived_ns, head, data) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"),
      // An entity is deleted when all that arrived until then is: of a pool, that of its last member.
      mark_seen_(database, "UPDATE entity_rows SET seen_s = ?2 WHERE id = ?1 AND seen_s < ?2"),
      read_(database, "SELECT head, data, arrived_ns FROM chunks WHERE id = ?1"),
      newer_(database, "SELECT head, data FROM chunks WHERE entity = ?1 AND last_ns >= ?2 AND first_ns <= ?3"),
      remove_(database, "DELETE FROM chunks WHERE id = ?1") {}

void PoolWriter::begin(int64_t first_ns, int64_t last_ns, bool is_used) {
  forget();
  first_ns_ = first_ns;
  last_ns_ = last_ns;
  is_used_ = is_used;
}

bool PoolWriter::wants(const EntityPoints &entity, int64_t rows) {
  if (!is_used_ || rows > kFewRows || entity.columns.empty() || entity.columns.size() > kFewColumns) return false;
  return find_new_.number(entity.id, floor_s(first_ns_)).has_value() && !is_member(entity.id);
}

// Its pool may be of the same times, if late samples came.
bool PoolWriter::is_member(int64_t entity) {
  if (std::exchange(known_pool_, pool_of(entity)) != pool_of(entity)) {
    members_.clear();
    find_pools_.each(
        [&](const Row &row) {
          if (!reader_.open(row.blob(0))) return;
          for (const PoolReader::Member &member : reader_.members()) members_.insert(member.entity);
        },
        known_pool_, first_ns_, last_ns_);
  }
  return members_.contains(entity);
}

void PoolWriter::add(EntityPoints &&entity) {
  if (pool_ != pool_of(entity.id) || encoder_.bytes() > kPoolBytes) flush();
  pool_ = pool_of(entity.id);
  waiting_entities_.push_back(std::move(entity));
  if (encoder_.empty() && waiting_entities_.size() < kFewest) return;
  for (EntityPoints &one : waiting_entities_) put_member(one);
  waiting_entities_.clear();
}

void PoolWriter::put_member(EntityPoints &entity) {
  std::sort(entity.columns.begin(), entity.columns.end(), [](const Column &a, const Column &b) { return a.metric < b.metric; });
  chunk_encoder_.encode(entity.columns, chunk_, Effort::plain);
  encoder_.add(entity.id, chunk_);
  pooled_.push_back(entity.id);
  arrived_ns_ = std::max(arrived_ns_, entity.arrived_ns);
}

void PoolWriter::flush() {
  for (EntityPoints &entity : waiting_entities_) chunks_.put(entity, Effort::full);
  waiting_entities_.clear();
  if (encoder_.empty()) return;
  encoder_.finish(chunk_);
  add_.run(pool_, chunk_.first_ns, chunk_.last_ns, arrived_ns_, Blob{chunk_.head}, Blob{chunk_.data});
  for (const int64_t entity : pooled_) mark_seen_.run(entity, ceil_s(arrived_ns_));
  pooled_.clear();
  arrived_ns_ = INT64_MIN;
}

bool PoolWriter::dissolve(int64_t pool) {
  std::vector<EntityPoints> members;
  bool is_good = false;
  read_.each([&](const Row &row) { is_good = read_members(row, members); }, pool);
  if (!is_good) return false;
  for (EntityPoints &member : members) {
    remove_replaced(member);
    chunks_.put(member, Effort::full);
  }
  chunks_.delete_replaced();
  remove_.run(pool);
  return true;
}

bool PoolWriter::read_members(const Row &pool, std::vector<EntityPoints> &members) {
  if (!reader_.open(pool.blob(0)) || !reader_.read(pool.blob(1))) return false;
  for (const PoolReader::Member &member : reader_.members()) {
    if (!chunk_reader_.open_member(member.head)) return false;
    chunk_reader_.set_data(member.data);
    auto columns = columns_of(chunk_reader_);
    if (!columns) return false;
    members.push_back({member.entity, std::move(*columns), pool.integer(2)});
  }
  return true;
}

void PoolWriter::remove_replaced(EntityPoints &member) {
  TimeInterval time_interval;
  for (const Column &column : member.columns) time_interval.add(column);
  newer_.each(
      [&](const Row &row) {
        if (!chunk_reader_.open(row.blob(0))) return;  // it is damaged, and replaces nothing
        chunk_reader_.set_data(row.blob(1));
        for (Column &column : member.columns) column = without(column, chunk_reader_);
      },
      member.id, time_interval.first_ns, time_interval.last_ns);
  std::erase_if(member.columns, [](const Column &column) { return column.size() == 0; });
}

void PoolWriter::forget() {
  waiting_entities_.clear();
  pooled_.clear();
  if (!encoder_.empty()) encoder_.finish(chunk_);
  arrived_ns_ = INT64_MIN;
  known_pool_ = pool_ = 0;
  is_used_ = false;
}

}  // namespace atalaya::store
