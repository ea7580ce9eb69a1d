// SPDX-License-Identifier: Apache-2.0
// Entities that lived for a short time share rows, without effect for readers.
#include <doctest/doctest.h>
#include <zstd.h>

#include <atomic>
#include <exception>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/encode/crc32c.h"
#include "plugins/shared/store/sqlite/chunks/pool.h"
#include "plugins/shared/store/sqlite/repair.h"
#include "tests/unit/store/engines/pool_fixture.h"

namespace atalaya::store::test {
namespace {

TEST_CASE("entities of a short life share rows, and every point comes back, also with late ones") {
  TestStore store;
  Host host(store);
  host.run();
  host.rest(kStart + 2 * kDay);
  CHECK(store.row_count() == 0);
  CHECK(pools(store) >= 2);
  CHECK(store.number("SELECT count(*) FROM chunks") * 4 < store.number("SELECT count(*) FROM entities"));
  host.check();
  host.late(kStart + 2 * kDay + kHour);
  host.check();
  host.rest(kStart + 4 * kDay);
  CHECK(store.row_count() == 0);
  host.check();
  host.late(kStart + 4 * kDay + kHour);
  host.rest(kStart + 6 * kDay);  // chunks are old, and joined
  CHECK(pools(store) >= 2);
  host.check();
}

TEST_CASE("samples that come between the steps of packing are not lost") {
  TestStore store;
  Host host(store);
  host.run();
  std::mt19937 random(78);
  int64_t now_ns = kStart + kDay;
  for (int round = 0; round < 30; ++round) {
    now_ns += 11 * kMinute;
    host.late(now_ns, 3);
    for (int i = 0; i < 40; ++i) host.writer().write({}, now_ns);
    for (auto steps = random() % 6; steps > 0; --steps) host.writer().maintain(now_ns);
  }
  host.check();
  host.rest(now_ns + kDay);
  CHECK(store.row_count() == 0);
  CHECK(pools(store) > 0);
  host.check();
}

TEST_CASE("a store that rolls up makes no pools") {
  TestStore store;
  Host host(store, {.rollup = {{30 * kDay, 60 * kSecond, {}}}});
  host.run();
  host.rest(kStart + 2 * kDay);
  CHECK(store.row_count() == 0);
  CHECK(pools(store) == 0);
  host.check();
}

void put_number(std::string &out, uint64_t value) {
  for (; value > 0x7f; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
void put_crc(std::string &out, uint32_t crc) {
  out.append(reinterpret_cast<const char *>(&crc), sizeof(crc));
}
std::string with_crc(const std::string &bytes) {
  std::string out;
  put_crc(out, core::crc32c(bytes));
  return out + bytes;
}

// The form of schema 9: heads of members with checksums, and the sizes of members in the head. All segments are small.
std::pair<std::string, std::string> old_pool(std::string_view head, std::string_view data) {
  PoolReader pool;
  REQUIRE(pool.open(head));
  REQUIRE(pool.read(data));
  std::string list("\1", 1), heads, datas;
  put_number(list, pool.members().size());
  int64_t entity = 0;
  for (const PoolReader::Member &member : pool.members()) {
    std::string checked(member.head);
    put_crc(checked, core::crc32c(member.data));
    checked = with_crc(checked);
    put_number(list, static_cast<uint64_t>(member.entity - entity));
    put_number(list, checked.size());
    put_number(list, member.data.size());
    entity = member.entity;
    heads += checked;
    datas += member.data;
  }
  heads += datas;
  std::string packed(ZSTD_compressBound(heads.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), heads.data(), heads.size(), 6));
  put_crc(list, core::crc32c(packed));
  return {with_crc(list), packed};
}

int64_t make_pools_old(const std::string &path) {
  Database database(path, Access::read_write);
  std::vector<std::tuple<int64_t, std::string, std::string>> old;
  Statement(database, "SELECT id, head, data FROM chunks WHERE entity < 0").each([&](const Row &row) {
    const auto [head, data] = old_pool(row.blob(1), row.blob(2));
    old.emplace_back(row.integer(0), head, data);
  });
  Statement put(database, "UPDATE chunks SET head = ?2, data = ?3 WHERE id = ?1");
  for (const auto &[id, head, data] : old) put.run(id, Blob{head}, Blob{data});
  return static_cast<int64_t>(old.size());
}

TEST_CASE("pools of schema 9 are read, repaired and dissolved, and take more space than those of today") {
  TestStore store;
  Host host(store);
  host.run();
  host.rest(kStart + 2 * kDay);
  constexpr const char *size = "SELECT sum(length(head) + length(data)) FROM chunks WHERE entity < 0";
  const int64_t bytes = store.number(size);
  REQUIRE(make_pools_old(store.path) >= 2);
  CHECK(store.number(size) > bytes);
  host.check();
  host.late(kStart + 2 * kDay + kHour);
  host.check();
  {
    Database database(store.path, Access::read_only);
    CHECK(verify(database, [](const std::string &, const std::string &) {}).damaged == 0);
  }
  host.reopen({.rollup = {{3650 * kDay, 60 * kSecond, {}}}});  // such a store has no pools
  host.rest(kStart + 6 * kDay);
  CHECK(pools(store) == 0);
  host.check();
}

// The points of the metric "a".
size_t points_in(const TestStore &store) {
  SqliteStore reader(store.path);
  size_t points = 0;
  for (const auto &series : scan(reader, {{"a"}, {}, {}})) points += series.size();
  return points;
}

TEST_CASE("an entity stays as long as the pool with its points, and no longer") {
  TestStore store;
  Host host(store);
  host.run();
  host.rest(kStart + 2 * kDay);
  const size_t points = points_in(store);
  const int64_t first_ns = store.number("SELECT min(arrived_ns) FROM chunks");
  const int64_t entities = store.number("SELECT count(*) FROM entities");
  host.reopen({.retain_ns = kDay});
  const auto keep_until = [&](int64_t now_ns) {
    for (int i = 0; i < 20; ++i) host.writer().maintain(now_ns);
  };
  keep_until(first_ns + kDay - 1);
  CHECK(store.number("SELECT count(*) FROM entities") == entities);
  CHECK(points_in(store) == points);
  keep_until(first_ns + kDay + kLateNs + 1);
  CHECK(points_in(store) < points);
  CHECK(store.number("SELECT count(*) FROM entities WHERE id NOT IN (SELECT entity FROM entity_shapes)") == 0);
  keep_until(first_ns + 3 * kDay);
  CHECK(store.number("SELECT count(*) FROM chunks") == 0);
  CHECK(store.number("SELECT count(*) FROM entities") == 0);
}

// Of the metric "a", whose value is the second.
struct Readable {
  size_t points = 0, wrong = 0;
  bool damaged = false;
};
Readable readable(const TestStore &store) {
  SqliteStore reader(store.path);
  Readable found;
  for (const auto &series : scan(reader, {{"a"}, {}, {}}))
    for (const Point &point : series) {
      ++found.points;
      if (point.count != (point.time_ns - kStart) / kSecond) ++found.wrong;
    }
  found.damaged = !reader.take_damage().empty();
  return found;
}

TEST_CASE("a wrong byte of a pool is noticed, wherever it is, and repair saves the rest") {
  TestStore store;
  {
    Host host(store);
    host.run();
    host.rest(kStart + 2 * kDay);
  }
  const size_t whole = readable(store).points;
  {
    Database database(store.path, Access::read_write);
    const int64_t pool = database.number("SELECT min(id) FROM chunks WHERE entity < 0");
    std::string head, data;
    Statement(database, "SELECT head, data FROM chunks WHERE id = ?1")
        .each(
            [&](const Row &row) {
              head = row.blob(0);
              data = row.blob(1);
            },
            pool);
    Statement put(database, "UPDATE chunks SET head = ?2, data = ?3 WHERE id = ?1");
    std::mt19937 random(77);
    for (int i = 0; i < 40; ++i) {
      std::string bad_head = head, bad_data = data;
      std::string &bad = i % 2 == 0 ? bad_head : bad_data;
      bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
      put.run(pool, Blob{bad_head}, Blob{bad_data});
      const Readable found = readable(store);
      CHECK(found.damaged);
      CHECK(found.wrong == 0);
      CHECK(found.points < whole);
      CHECK(found.points > 0);
    }
    size_t damaged = 0;
    verify(database, [&](const std::string &, const std::string &) { ++damaged; });
    CHECK(damaged == 1);
  }
  const size_t rest = readable(store).points;
  CHECK(repair(store.path).rows.damaged == 1);
  const Readable repaired = readable(store);
  CHECK(!repaired.damaged);
  CHECK(repaired.points == rest);
}

TEST_CASE("readers see each sample once while pools are made, and while they become chunks") {
  constexpr int64_t kAlive = 10;
  TestStore store;
  Host host(store);
  int64_t second = 0;
  std::atomic<int64_t> written = 0;
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0, calls = 0;
  const auto write = [&] {
    const int64_t time_ns = kStart + ++second * kSecond;
    auto samples = store.samples();
    for (int64_t i = 0; i < kAlive; ++i)
      samples.metrics(time_ns, {{"pid", std::to_string(second / 5 * 100 + i)}}).count("a", second);
    host.writer().write(samples.span(), time_ns);
    written = second;
    host.writer().maintain(time_ns);
  };
  const auto points_until = [&](int64_t last) {
    SqliteStore reader(store.path);
    int64_t points = 0;
    for (const auto &series : scan(reader, {{"a"}, {}, {kStart, kStart + last * kSecond}}))
      points += static_cast<int64_t>(series.size());
    return points;
  };
  const auto read = [&] {
    for (; !stop; ++calls) try {
        const int64_t last = written;
        if (points_until(last) != last * kAlive) ++wrong;
      } catch (const std::exception &) {
        ++wrong;
      }
  };
  for (int i = 0; i < 400; ++i) write();
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(read);
  while (second < 2500 || calls < 10) write();
  CHECK(pools(store) > 0);
  host.reopen({.rollup = {{30 * kDay, kMinute, {}}}});
  for (calls = 0; pools(store) > 0 || calls < 10;) write();
  stop = true;
  for (std::thread &reader : readers) reader.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace atalaya::store::test
