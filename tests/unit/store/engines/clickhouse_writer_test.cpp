// SPDX-License-Identifier: Apache-2.0
// The writer against a server that accepts and refuses on command.
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "plugins/shared/store/clickhouse/writer.h"
#include "tests/unit/io/http_client/server.h"
#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::clickhouse {
namespace {

using http_client::testing::answer;
using http_client::testing::Asked;
using http_client::testing::Server;
using test::kNow;
using test::kSecond;
using test::Samples;

const char *const kRefuses = "Code: 469. DB::Exception: Constraint is violated";

size_t count_of(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// An empty database of today; `takes` selects the inserts that it accepts, by the table and the rows.
struct Database {
  std::function<bool(const std::string &table, const std::string &rows)> takes;
  std::atomic<size_t> inserts = 0;
  std::atomic<bool> away = false;
  std::vector<std::string> taken;  // rows of points
  Server server{[this](const Asked &asked) { return say(asked); }};

  std::string say(const Asked &asked) {
    if (away) return answer("503 Service Unavailable");
    if (asked.has("SELECT version()")) return answer("200 OK", "24.8.1.1\n");
    if (asked.has("FROM system.columns")) return answer("200 OK", std::string("\1\0\0\0", 4));
    if (asked.has("FROM system.tables")) return answer("200 OK", std::string("\1\0\0", 3));
    const std::string insert = "INSERT%20INTO%20";
    const size_t at = asked.head.find(insert);
    if (at == std::string::npos) return answer("200 OK");
    ++inserts;
    const std::string table = asked.head.substr(at + insert.size(), 6);
    if (!takes(table, asked.body)) return answer("500 Internal Server Error", kRefuses);
    if (table == "points") taken.push_back(asked.body);
    return answer("200 OK");
  }
  size_t taken_rows(const std::string &metric) const {
    size_t count = 0;
    for (const std::string &rows : taken) count += count_of(rows, metric);
    return count;
  }
};

WriterOptions options_for(const Database &database) {
  const auto response_timeout = std::chrono::seconds(60);
  const std::string url = "http://127.0.0.1:" + std::to_string(database.server.port) + "/db";
  return {.client = {parse_location(url), response_timeout, response_timeout, "none"}};
}

struct Batch {
  core::Symbols symbols;
  Samples samples{symbols};
  core::NameOf names() {
    return [this](uint32_t id) { return symbols.name(id); };
  }
  // Points of one series, some of them with another one's name.
  void fill(size_t count, const std::function<bool(size_t)> &is_bad) {
    for (size_t i = 0; i < count; ++i)
      samples.metrics(kNow + static_cast<int64_t>(i) * kSecond, {{"host", "a"}}).real(is_bad(i) ? "bad.one" : "good.one", 1);
  }
};

std::set<size_t> refused_by(const Writer &writer) {
  std::set<size_t> samples;
  for (const RefusedRow &row : writer.refused_rows()) samples.insert(row.sample);
  return samples;
}

TEST_CASE("clickhouse: only rows that were refused alone are given up, however many they are") {
  Database database;
  database.takes = [](const std::string &table, const std::string &rows) {
    return table != "points" || rows.find("bad.one") == std::string::npos;
  };
  Batch batch;
  const auto is_bad = [](size_t i) { return i % 5 == 3; };
  batch.fill(2000, is_bad);
  Writer writer(options_for(database), batch.names());
  size_t tries = 0;
  for (bool done = false; !done; ++tries) {
    REQUIRE(tries < 10);
    const size_t before = database.inserts;
    try {
      writer.write(batch.samples.span(), kNow);
      done = true;
    } catch (const Error &error) {
      CHECK(error.cause() == Cause::retry);
      CHECK(std::string(error.what()).find("the search goes on when the batch comes again") != std::string::npos);
    }
    CHECK(database.inserts - before < 1100);
  }
  CHECK(tries > 1);
  const std::set<size_t> refused = refused_by(writer);
  CHECK(refused.size() == 400);
  for (const size_t sample : refused) CHECK(is_bad(sample));
  CHECK(database.taken_rows("good.one") >= 1600);
  CHECK(database.taken_rows("bad.one") == 0);
}

TEST_CASE("clickhouse: a table that takes nothing is not the fault of the rows") {
  Database database;
  bool broken = true;
  database.takes = [&](const std::string &table, const std::string &) { return table != "points" || !broken; };
  Batch batch;
  batch.fill(100, [](size_t) { return false; });
  Writer writer(options_for(database), batch.names());
  try {
    writer.write(batch.samples.span(), kNow);
    FAIL("it was taken");
  } catch (const Error &error) {
    CHECK(error.cause() == Cause::retry);
    CHECK(std::string(error.what()).find("accepts no row (Constraint is violated)") != std::string::npos);
  }
  CHECK(writer.refused_rows().empty());
  CHECK(database.inserts < 30);
  broken = false;
  writer.write(batch.samples.span(), kNow);
  CHECK(writer.refused_rows().empty());
  CHECK(database.taken_rows("good.one") == 100);
}

TEST_CASE("clickhouse: no point is written whose series was refused") {
  Database database;
  bool broken = true;
  database.takes = [&](const std::string &table, const std::string &) { return table != "series" || !broken; };
  Batch batch;
  batch.fill(3, [](size_t) { return false; });
  Writer writer(options_for(database), batch.names());
  CHECK_THROWS_AS(writer.write(batch.samples.span(), kNow), Error);
  CHECK(database.taken.empty());
  broken = false;
  writer.write(batch.samples.span(), kNow);
  CHECK(database.taken_rows("good.one") == 3);
  CHECK(writer.refused_rows().empty());
}

TEST_CASE("clickhouse: a batch that a server does not accept is stored by the next one; later the first one is used again") {
  Database first, second;
  first.takes = second.takes = [](const std::string &, const std::string &) { return true; };
  std::vector<std::string> said;
  WriterOptions options = options_for(first);
  options.client.location.urls.push_back(options_for(second).client.location.urls.front());
  options.warn = [&said](const std::string &text) { said.push_back(text); };
  Batch batch;
  batch.fill(3, [](size_t) { return false; });
  {
    Writer writer(options, batch.names());
    writer.write(batch.samples.span(), kNow);
    CHECK(first.taken_rows("good.one") == 3);
    first.away = true;
    writer.write(batch.samples.span(), kNow + kSecond);
    CHECK(second.taken_rows("good.one") == 3);
    second.away = true;
    CHECK_THROWS_AS(writer.write(batch.samples.span(), kNow + kSecond), Error);
    first.away = second.away = false;
    // The pause of a failed server is over after a fraction of a second.
    for (size_t i = 0; first.taken_rows("good.one") < 6; ++i) {
      REQUIRE(i < 1'000'000);
      writer.write(batch.samples.span(), kNow + kSecond);
    }
  }
  CHECK(said.size() >= 2);
}

TEST_CASE("clickhouse: an unreachable server of the cluster gets its tables later") {
  Server server([](const Asked &asked) {
    if (asked.has("SELECT version()")) return answer("200 OK", "24.8.1.1\n");
    if (asked.has("FROM system.columns")) return answer("200 OK", std::string("\1\0\0\0", 4));
    if (asked.has("FROM system.tables")) return answer("200 OK", std::string("\1\0\0", 3));
    if (asked.has(" ON CLUSTER ")) return answer("500 Internal Server Error", "Code: 159. DB::Exception: Watching task");
    return answer("200 OK");
  });
  const auto response_timeout = std::chrono::seconds(60);
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port) + "/db";
  {
    Batch batch;
    Writer writer({.client = {parse_location(url), response_timeout, response_timeout, "none"}, .cluster = "pair"}, batch.names());
    writer.prepare();
  }
  const Asked last = server.asked().back();
  CHECK(last.has("CREATE VIEW IF NOT EXISTS db.atalaya_schema ON CLUSTER pair"));
  CHECK(last.has("&distributed_ddl_task_timeout=30"));
}

TEST_CASE("clickhouse: a sink writes to no tables that were made for another cluster, and a command makes none") {
  std::string engine = "MergeTree";
  Server server([&](const Asked &asked) {
    if (asked.has("SELECT version()")) return answer("200 OK", "24.8.1.1\n");
    if (asked.has("FROM system.columns")) return answer("200 OK", std::string("\1\0\0\0", 4));
    std::string row(1, '\0');
    append_text(row, "points");
    append_text(row, engine);
    return answer("200 OK", asked.has("FROM system.tables") ? row + std::string("\1\0\0", 3) : "");
  });
  const auto response_timeout = std::chrono::seconds(60);
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port) + "/db";
  Batch batch;
  const auto says = [&](const char *cluster, bool corrects) {
    Writer writer(
        {.client = {parse_location(url), response_timeout, response_timeout, "none"}, .cluster = cluster, .corrects = corrects},
        batch.names());
    try {
      writer.prepare();
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(says("pair", false).find("\"points\" of one server, and the sink names the cluster \"pair\"") != std::string::npos);
  CHECK(says("", false).empty());
  for (const char *quoted : {"Distributed('pair', 'db', 'points_local', entity)", "Distributed(pair, db, points_local, entity)"}) {
    engine = quoted;
    CHECK(says("", false).find(", and the sink names no cluster; write `cluster`") != std::string::npos);
    CHECK(says("pai", false).find("and the sink names the cluster \"pai\"") != std::string::npos);
    CHECK(says("pair", false).empty());
  }
  CHECK(says("", true).find("is empty; run a pipeline with the sink \"clickhouse\" first") != std::string::npos);
}

TEST_CASE("clickhouse: a clock that is set back makes no row older, also after a restart") {
  const test::Folder folder;
  Database database;
  database.takes = [](const std::string &, const std::string &) { return true; };
  Batch batch;
  batch.fill(1, [](size_t) { return false; });
  WriterOptions options = options_for(database);
  options.version_file = folder / "version";
  for (const int64_t now : {kNow, kNow - 60 * kSecond}) {
    Writer writer(options, batch.names());
    writer.write(batch.samples.span(), now);
  }
  const auto version = [&](size_t i) {
    uint64_t number = 0;
    const std::string &rows = database.taken.at(i);
    std::memcpy(&number, &rows.at(rows.size() - sizeof(number)), sizeof(number));
    return number;
  };
  CHECK(version(0) == static_cast<uint64_t>(kNow));
  CHECK(version(1) == static_cast<uint64_t>(kNow) + 1);
}

}  // namespace
}  // namespace atalaya::store::clickhouse
