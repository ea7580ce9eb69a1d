// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/file/tables.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"
#include "plugins/shared/store/sqlite/chunks/pool.h"
#include "plugins/shared/store/sqlite/rollup/rollup_points.h"
#include "plugins/shared/store/sqlite/rows/block.h"
#include "plugins/shared/store/sqlite/rows/fields.h"

namespace atalaya::store {
namespace {

constexpr int64_t kMaxKey = std::numeric_limits<int64_t>::max();
constexpr Table kAll[] = {
    {"metrics", "id"},           {"tag_sets", "id"},      {"entity_rows", "id"},   {"entities", "id"}, {"shapes", "id"},
    {"entity_shapes", "entity"}, {"frames", "id"},        {"stack_nodes", "id"},   {"windows", "id"},  {"samples", "window"},
    {"late_windows", "window"},  {"chunks", "id"},        {"unfinished", "chunk"}, {"rolled", "id"},   {"stacks", "window"},
    {"spans", "start_ns"},       {"arrival_clock", "id"}, {"collected", "id"},
};

std::string select_from(const Table &table) {
  return "SELECT *, " + std::string(table.key) + " FROM " + table.name + " WHERE " + table.key + " >= ?1 ORDER BY " + table.key;
}

int64_t key_of(const Row &row) {
  return row.integer(row.columns() - 1);
}

bool is_readable(Database &database, const Table &table, int64_t from) {
  try {
    Statement(database, select_from(table) + " LIMIT 1").each([](const Row &) {}, from);
    return true;
  } catch (const Error &error) {
    if (error.cause() != Cause::permanent) throw;
    return false;
  }
}

// The first key after a stretch that cannot be read: the steps double until a key can be read, then halve.
std::optional<int64_t> readable_after(Database &database, const Table &table, int64_t bad) {
  int64_t step = 1;
  while (!is_readable(database, table, bad + step)) {
    if (step > (kMaxKey - bad) / 2) return std::nullopt;
    step *= 2;
  }
  int64_t low = bad, high = bad + step;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (is_readable(database, table, middle) ? high : low) = middle;
  }
  return high;
}

template <class Text>
bool are_fields(const Text &text) {
  FieldReader reader(text);
  while (reader.next()) {
  }
  return !reader.damaged();
}

bool is_block(std::string_view text) {
  BlockReader reader(text);
  while (reader.next())
    if (!are_fields(reader.fields())) return false;
  return !reader.damaged();
}

bool are_points(ChunkReader &reader, std::string_view data) {
  Values values;
  reader.set_data(data);
  for (const Part &part : reader.parts())
    if (reader.times(part) == nullptr || !reader.values(part, values)) return false;
  return true;
}

bool is_chunk(std::string_view head, std::string_view data) {
  ChunkReader reader;
  return reader.open(head) && are_points(reader, data);
}

bool is_pool(std::string_view head, std::string_view data) {
  PoolReader pool;
  ChunkReader reader;
  if (!pool.open(head) || !pool.read(data)) return false;
  return std::all_of(pool.members().begin(), pool.members().end(), [&](const PoolReader::Member &member) {
    return reader.open_member(member.head) && are_points(reader, member.data);
  });
}

bool is_rolled(const Row &row) {
  ChunkReader reader;
  std::vector<RolledPoint> points;
  if (!reader.open(row.blob(6))) return false;
  reader.set_data(row.blob(7));
  for (const int64_t metric : rolled_metrics(reader))
    if (!read_rolled(reader, metric, points)) return false;
  return true;
}

bool can_be_decoded(std::string_view table, const Row &row) {
  if (table == "samples") return is_block(row.text(2));
  if (table == "chunks") return row.integer(1) < 0 ? is_pool(row.blob(5), row.blob(6)) : is_chunk(row.blob(5), row.blob(6));
  if (table == "rolled") return is_rolled(row);
  if (table == "stacks") return are_fields(row.text(3));
  if (table == "spans") return are_fields(row.text(5));
  return true;
}

}  // namespace

std::span<const Table> tables() {
  return kAll;
}

void for_each_row(Database &database, const Table &table, const std::function<void(const Row &)> &row,
                  const std::function<void(int64_t after, const std::string &why)> &lost) {
  int64_t next = std::numeric_limits<int64_t>::min();
  while (true) {
    try {
      return Statement(database, select_from(table))
          .each(
              [&](const Row &found) {
                next = key_of(found);
                row(found);
              },
              next);
    } catch (const Error &error) {
      if (error.cause() != Cause::permanent) throw;
      next = std::max(next, int64_t{0});  // ids begin at 1; times before 1970 are lost with the first page
      lost(next, error.what());
    }
    const auto behind = readable_after(database, table, next);
    if (!behind) return;
    next = *behind;
  }
}

std::string problem_of(const Table &table, const Row &row) {
  return can_be_decoded(table.name, row) ? "" : "its content cannot be decoded";
}

}  // namespace atalaya::store
