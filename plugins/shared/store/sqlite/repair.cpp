// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/repair.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

#include "plugins/shared/store/location.h"
#include "plugins/shared/store/sqlite/file/schema.h"
#include "plugins/shared/store/sqlite/file/tables.h"

namespace atalaya::store {
namespace {

// Newer ids than these never existed, if the counters of the store cannot be read: an id must not get a second meaning.
constexpr int64_t kUnknownIds = 1'000'000'000;

bool has_table(Database &database, const Table &table) {
  return Statement(database, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")
      .number(std::string_view(table.name))
      .has_value();
}

RowCounts verify_table(Database &database, const Table &table, const OnDamage &on_damage) {
  RowCounts counts;
  const auto part = [&](int64_t key) { return std::string(table.name) + ' ' + std::to_string(key); };
  for_each_row(
      database, table,
      [&](const Row &row) {
        const std::string problem = problem_of(table, row);
        if (problem.empty()) {
          ++counts.good;
          return;
        }
        ++counts.damaged;
        on_damage(part(row.integer(row.columns() - 1)), problem);
      },
      [&](int64_t after, const std::string &why) {
        ++counts.damaged;
        on_damage(part(after) + " and after", why);
      });
  return counts;
}

bool is_old_entities(std::string_view table) {
  return table == "entities";
}

RowCounts copy_table(Database &from, const Table &table, Database &to, const std::string &name) {
  const auto columns = static_cast<int>(to.number(("SELECT count(*) FROM pragma_table_info('" + name + "')").c_str()));
  std::string insert = "INSERT INTO " + name + " VALUES(?";
  for (int i = 1; i < columns; ++i) insert += ",?";
  Statement put(to, insert + ")");
  RowCounts counts;
  const auto copy = [&](const Row &row) {
    try {
      if (!problem_of(table, row).empty()) throw Error(Cause::permanent, "");
      put.run_with(row, columns);
      ++counts.good;
    } catch (const Error &error) {
      if (error.cause() != Cause::permanent) throw;
      ++counts.damaged;  // or it breaks a rule of the table
    }
  };
  for_each_row(from, table, copy, [&](int64_t, const std::string &) { ++counts.damaged; });
  return counts;
}

void copy_id_counters(Database &from, Database &to) {
  try {
    Statement(from, "SELECT name, seq FROM sqlite_sequence").each([&](const Row &row) {
      const std::string_view name = is_old_entities(row.text(0)) ? "entity_rows" : row.text(0);
      Statement(to, "DELETE FROM sqlite_sequence WHERE name = ?1").run(name);
      Statement(to, "INSERT INTO sqlite_sequence VALUES(?1, ?2)").run(name, row.integer(1));
    });
  } catch (const Error &error) {
    if (error.cause() != Cause::permanent) throw;
    Statement(to, "UPDATE sqlite_sequence SET seq = seq + ?1").run(kUnknownIds);
  }
}

RowCounts copy_good_rows(const std::string &path, const std::string &copy) {
  Database from(path, Access::read_only);
  check_is_store(from);
  create_private(copy);
  Database to(copy, Access::read_write);
  prepare_for_writing(to, true);
  const ReadTransaction reading(from);
  Transaction writing(to);
  RowCounts all;
  for (const Table &table : tables()) {
    if (!has_table(from, table)) continue;
    const bool is_old = is_old_entities(table.name);
    if (is_old) make_old_entities(to);
    const RowCounts counts = copy_table(from, table, to, is_old ? "old_entities" : table.name);
    if (is_old) take_old_entities(to);
    all.good += counts.good;
    all.damaged += counts.damaged;
  }
  copy_id_counters(from, to);
  writing.commit();
  return all;
}

[[noreturn]] void fail(const std::string &action, const std::string &path) {
  throw Error(Cause::config, "cannot " + action + " " + path + ": " + core::error_text(errno));
}

void check_room(const std::string &path, int64_t needed) {
  struct statvfs disk {};
  if (::statvfs(path.c_str(), &disk) != 0) fail("examine the disk of", path);
  const auto free = static_cast<int64_t>(disk.f_bavail * disk.f_frsize);
  if (free < needed)
    throw Error(Cause::config, "no room for a copy of " + path + ": it needs up to " + std::to_string(needed >> 20) +
                                   " MiB, its disk has " + std::to_string(free >> 20) + "; make room, or copy it to another disk");
}

std::string unused_name(const std::string &path) {
  std::string name = path + ".damaged";
  for (int i = 2; ::access(name.c_str(), F_OK) == 0; ++i) name = path + ".damaged-" + std::to_string(i);
  return name;
}

// The path always has a file: an agent that starts meanwhile must not create an empty store.
std::string replace(const std::string &path, const std::string &copy) {
  std::string kept = unused_name(path);
  if (::link(path.c_str(), kept.c_str()) != 0) fail("keep the damaged store as", kept);
  if (::rename((path + "-wal").c_str(), (kept + "-wal").c_str()) != 0 && errno != ENOENT) fail("rename", path + "-wal");
  ::unlink((path + "-shm").c_str());
  if (::rename(copy.c_str(), path.c_str()) != 0) fail("put the repaired store at", path);
  return kept;
}

}  // namespace

RowCounts verify(Database &database, const OnDamage &on_damage) {
  RowCounts all;
  for (const Table &table : tables()) {
    if (!has_table(database, table)) continue;
    const RowCounts counts = verify_table(database, table, on_damage);
    all.good += counts.good;
    all.damaged += counts.damaged;
  }
  Statement(database, "PRAGMA integrity_check(20)").each([&](const Row &row) {
    if (row.text(0) == "ok") return;
    ++all.damaged;
    on_damage("structure", std::string(row.text(0)));
  });
  return all;
}

Repaired repair(const std::string &path) {
  struct stat old {};
  if (::stat(path.c_str(), &old) != 0) fail("read", path);
  const core::Descriptor lock = lock_for_writing(path);
  check_room(path, old.st_size);
  const std::string copy = path + ".repaired";
  for (const char *suffix : {"", "-wal", "-shm"}) ::unlink((copy + suffix).c_str());  // of a repair that was interrupted
  const RowCounts rows = copy_good_rows(path, copy);
  if (::chown(copy.c_str(), old.st_uid, old.st_gid) != 0 || ::chmod(copy.c_str(), old.st_mode & 0777) != 0)
    fail("set the owner of", copy);
  return {rows, replace(path, copy)};
}

}  // namespace atalaya::store
