// SPDX-License-Identifier: Apache-2.0
#include "plugins/store/reader.h"

#include "plugins/store/schema.h"

namespace atalaya::store {
namespace {

Database open_for_reading(const std::string &path) {
  Database database(path, Access::read_only);
  check_is_store(database);
  if (database.number("PRAGMA user_version") == 0)
    throw Error(Cause::config, "database " + path + " is empty; run a pipeline with the sink \"sqlite\" first");
  return database;
}

}  // namespace

Reader::Reader(const std::string &path) : database_(open_for_reading(path)) {}

int64_t Reader::point_count() {
  return database_.number("SELECT count(*) FROM samples s JOIN json_each(s.fields)");
}

std::vector<std::string> Reader::metrics() {
  std::vector<std::string> names;
  Statement(database_, "SELECT name FROM metrics ORDER BY name").each([&](const Row &row) { names.emplace_back(row.text(0)); });
  return names;
}

std::vector<Point> Reader::scan(std::string_view metric, const Tags &tags, int64_t from_ns, int64_t to_ns) {
  Statement statement(database_,
                      "SELECT w.time_ns, w.duration_ns, f.value FROM windows w "
                      "JOIN entities e ON e.process IS ?1 AND e.pid IS coalesce(?2, ?3) AND e.host IS ?4 AND e.tags = ?5 "
                      "JOIN samples s ON s.window = w.id AND s.entity = e.id "
                      "JOIN json_each(s.fields) f JOIN metrics m ON m.id = f.key AND m.name = ?6 "
                      "WHERE w.time_ns > ?7 AND w.time_ns <= ?8 ORDER BY w.time_ns");
  const Identity who = Identity::of(tags);
  std::vector<Point> points;
  statement.each(
      [&](const Row &row) {
        points.push_back({row.integer(0), row.integer(1), row.real(2)});
      },
      who.process, who.pid, who.pid_text, who.host, std::string_view(who.tags), metric, from_ns, to_ns);
  return points;
}

}  // namespace atalaya::store
