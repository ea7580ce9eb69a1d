// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/names/entity_ids.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

// Writers of one store: an agent, and commands that write spans.
struct IdWriter {
  explicit IdWriter(const std::string &path)
      : database(path, Access::read_write),
        ids(database),
        add(database, "INSERT INTO entity_rows(id, tag_set, seen_s, first_s, last_s) VALUES(?1, 0, 0, 0, 0)") {}
  int64_t put(std::string_view host) {
    const int64_t id = ids.next(host);
    add.run(id);
    return id;
  }
  Database database;
  EntityIds ids;
  Statement add;
};

TEST_CASE("a block has entities of one host, and no id comes twice, whatever writers do") {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    TestStore store;
    store.writer();
    std::mt19937 random(seed);
    IdWriter writers[] = {IdWriter(store.path), IdWriter(store.path)};
    std::map<int64_t, std::string> host_of_block;
    std::set<int64_t> given;
    for (int batch = 0; batch < 60; ++batch) {
      IdWriter &writer = writers[random() % 2];
      const bool is_lost = random() % 4 == 0;
      Transaction transaction(writer.database);
      for (auto left = random() % 40; left > 0; --left) {
        const std::string host = random() % 5 == 0 ? "" : "host" + std::to_string(random() % 4);
        const int64_t id = writer.put(host);
        if (is_lost) continue;
        CHECK(given.insert(id).second);
        CHECK(host_of_block.emplace(id >> kBlockBits, host).first->second == host);
      }
      if (random() % 3 == 0) writer.database.execute("DELETE FROM entity_rows WHERE id IN (SELECT max(id) FROM entity_rows)");
      if (is_lost) {
        writer.ids.forget();
      } else {
        transaction.commit();
      }
    }
  }
}

TEST_CASE("hosts whose entities come in turns fill their blocks") {
  TestStore store;
  Writer writer = store.writer();
  for (int pid = 0; pid < 64; ++pid) {
    auto samples = store.samples();
    for (const char *host : {"ant", "bee", "cat"})
      samples.metrics(kNow, {{"host", host}, {"pid", std::to_string(pid)}}).real("x", 1);
    writer.write(samples.span(), kNow);
  }
  // The first block lacks the id 0.
  CHECK(store.number("SELECT count(DISTINCT id >> 5) FROM entities") == 7);
  CHECK(store.number("SELECT max(hosts) FROM (SELECT count(DISTINCT host) AS hosts FROM entities GROUP BY id >> 5)") == 1);
}

}  // namespace
}  // namespace atalaya::store::test
