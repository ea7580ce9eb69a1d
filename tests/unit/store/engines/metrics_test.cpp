// SPDX-License-Identifier: Apache-2.0
// The table `metrics` of the embedded store: declarations arrive with the first sample, later, or never.
#include <doctest/doctest.h>

#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

using Lines = std::vector<std::string>;
const char *const kAll = "SELECT name, kind, unit, decimals, summary FROM metrics ORDER BY name";

void write(Writer &writer, core::Symbols &symbols, int64_t now_ns, std::string_view metric) {
  Samples samples(symbols);
  samples.metrics(now_ns, {{"host", "ant"}}).real(metric, 1);
  writer.write(samples.span(), now_ns);
}

TEST_CASE("a metric is stored with its declaration") {
  TestStore store;
  store.declared.add("x.queue", ATALAYA_GAUGE, "MiBy", "Memory of the queue", 2).add("x.sent", ATALAYA_DELTA, "By", "Sent bytes");
  Writer writer = store.writer();
  write(writer, store.symbols, kNow, "x.queue");
  write(writer, store.symbols, kNow, "x.sent");
  write(writer, store.symbols, kNow, "x.foreign.bytes");
  CHECK(store.sql(kAll) ==
        Lines{"x.foreign.bytes||||", "x.queue|gauge|MiBy|2|Memory of the queue", "x.sent|delta|By|-1|Sent bytes"});
  SqliteStore reader(store.path);
  const Catalogue catalogue = reader.catalogue();
  CHECK(catalogue.size() == 3);
  CHECK(catalogue.at("x.foreign.bytes")->kind == Kind::unknown);
  CHECK(catalogue.at("x.foreign.bytes")->unit.empty());
  CHECK(catalogue.at("x.queue")->unit == "MiBy");
  CHECK(catalogue.at("x.queue")->decimals == 2);
  const auto series = reader.series({{"x.sent"}, {}, {}}, 10);
  REQUIRE(series.size() == 1);
  CHECK(series[0].kind() == Kind::delta);
  CHECK(series[0].info->summary == "Sent bytes");
}

TEST_CASE("a declaration that comes later is added within a minute, and completes an older store") {
  TestStore store;
  {
    Writer writer = store.writer();
    write(writer, store.symbols, kNow, "x.late");
    write(writer, store.symbols, kNow, "x.later");
    store.declared.add("x.late", ATALAYA_RATE, "By/s", "", 1);
    write(writer, store.symbols, kNow + 61 * kSecond, "x.late");
    CHECK(store.sql(kAll) == Lines{"x.late|rate|By/s|1|", "x.later||||"});
  }
  store.declared.add("x.later", ATALAYA_TOTAL, "1");
  Writer writer = store.writer();
  write(writer, store.symbols, kNow + 70 * kSecond, "x.later");
  CHECK(store.sql(kAll) == Lines{"x.late|rate|By/s|1|", "x.later|total|1|-1|"});
}

TEST_CASE("the first declaration wins; a conflict is counted and logged once") {
  TestStore store;
  store.declared.add("x.sent", ATALAYA_DELTA, "By", "First");
  {
    Writer writer = store.writer();
    write(writer, store.symbols, kNow, "x.sent");
  }
  store.declared.add("x.sent", ATALAYA_GAUGE, "1", "Second");
  Lines warnings;
  Options options{store.path, {}, false};
  options.warn = [&](const std::string &text) { warnings.push_back(text); };
  Writer writer(options, store.names(), store.declared.metric_of(store.names()));
  for (int i = 0; i < 3; ++i) write(writer, store.symbols, kNow + i * kSecond, "x.sent");
  CHECK(writer.conflicts() == 1);
  CHECK(warnings ==
        Lines{"metric x.sent is stored as delta in \"By\" and is now declared as gauge in \"1\"; the store keeps the first "
              "declaration"});
  CHECK(store.sql(kAll) == Lines{"x.sent|delta|By|-1|First"});
}

TEST_CASE("a declaration of a batch that was rolled back is written with the next one") {
  TestStore store;
  store.declared.add("x.sent", ATALAYA_DELTA, "By");
  Writer writer = store.writer();
  Database(store.path, Access::read_write)
      .execute("CREATE TRIGGER no BEFORE INSERT ON windows BEGIN SELECT RAISE(ABORT, 'no'); END");
  CHECK_THROWS_AS(write(writer, store.symbols, kNow, "x.sent"), Error);
  CHECK(store.sql(kAll).empty());
  Database(store.path, Access::read_write).execute("DROP TRIGGER no");
  write(writer, store.symbols, kNow, "x.sent");
  CHECK(store.sql(kAll) == Lines{"x.sent|delta|By|-1|"});
}

}  // namespace
}  // namespace atalaya::store::test
