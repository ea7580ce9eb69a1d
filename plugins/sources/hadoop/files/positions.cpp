// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/files/positions.h"

#include <unistd.h>

namespace atalaya::hadoop {
namespace {

// Damaged positions must not prevent the agent's start: they only avoid sending spans again.
store::Database open_or_renew(const std::string &file) {
  const auto open = [&] {
    store::Database database(file, store::Access::read_write);
    database.execute("PRAGMA journal_mode = WAL");
    database.execute("PRAGMA synchronous = NORMAL");  // after a power failure some spans are only sent again
    database.execute(
        "CREATE TABLE IF NOT EXISTS histories(key TEXT PRIMARY KEY, part INTEGER NOT NULL, position INTEGER NOT NULL,"
        " changed_s INTEGER NOT NULL) WITHOUT ROWID");
    database.execute(
        "CREATE TABLE IF NOT EXISTS files(path TEXT PRIMARY KEY, size INTEGER NOT NULL, changed_ms INTEGER NOT NULL) WITHOUT "
        "ROWID");
    return database;
  };
  try {
    return open();
  } catch (const store::Error &error) {
    if (error.cause() != store::Cause::permanent) throw;
    for (const char *end : {"", "-wal", "-shm"}) unlink((file + end).c_str());
    return open();
  }
}

}  // namespace

Positions::Positions(const std::string &file) : database_(open_or_renew(file)) {}

std::map<std::string, Mark> Positions::files() {
  std::map<std::string, Mark> out;
  store::Statement(database_, "SELECT path, size, changed_ms FROM files").each([&](const store::Row &row) {
    out.emplace(row.text(0), Mark{static_cast<uint64_t>(row.integer(1)), row.integer(2)});
  });
  return out;
}

std::optional<protocols::Position> Positions::position_of(const std::string &key) {
  std::optional<protocols::Position> out;
  store::Statement(database_, "SELECT part, position FROM histories WHERE key = ?1")
      .each(
          [&](const store::Row &row) {
            out = {static_cast<uint64_t>(row.integer(0)), static_cast<uint64_t>(row.integer(1))};
          },
          std::string_view(key));
  return out;
}

void Positions::save(const std::vector<Progress> &progress, int64_t now_s) {
  store::Statement history(database_,
                           "INSERT INTO histories(key, part, position, changed_s) VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET "
                           "part = excluded.part, position = excluded.position, changed_s = excluded.changed_s "
                           "WHERE (part, position) < (excluded.part, excluded.position)");
  store::Statement file(
      database_,
      "INSERT INTO files(path, size, changed_ms) VALUES(?1, ?2, ?3) ON CONFLICT DO UPDATE SET size = excluded.size, "
      "changed_ms = excluded.changed_ms");
  store::Transaction transaction(database_);
  for (const Progress &one : progress) {
    if (!one.key.empty())
      history.run(std::string_view(one.key), static_cast<int64_t>(one.position.part), static_cast<int64_t>(one.position.offset),
                  now_s);
    if (one.mark) file.run(std::string_view(one.path), static_cast<int64_t>(one.mark->size), one.mark->changed_ms);
  }
  transaction.commit();
}

void Positions::forget_all_but(const std::set<std::string> &paths, int64_t since_s) {
  const std::map<std::string, Mark> known = files();
  store::Statement drop(database_, "DELETE FROM files WHERE path = ?1");
  store::Statement old(database_, "DELETE FROM histories WHERE changed_s < ?1");
  store::Transaction transaction(database_);
  for (const auto &[path, mark] : known)
    if (paths.count(path) == 0) drop.run(std::string_view(path));
  old.run(since_s);
  transaction.commit();
}

}  // namespace atalaya::hadoop
