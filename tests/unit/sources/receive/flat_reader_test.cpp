// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/flat/flat_reader.h"

#include "core/base/encode/flat.h"
#include "plugins/sources/receive/sample_builder.h"
#include "tests/unit/core/sample/sample_maker.h"
#include "tests/unit/filters/stages/fixture.h"

namespace atalaya::testing {
namespace {

using core::testing::Maker;

// Takes the body of one request into a batch.
class FlatBuilt final : public Source {
 public:
  static constexpr Description description = {.name = "flat_built"_str, .summary = "for this test"_str};
  static inline std::string body;
  static inline size_t max_names = 100;
  static inline protocols::Account account;

  explicit FlatBuilt(Host host) : builder_(host, max_names) {}
  Code collect(const Window &, Batch &batch) override {
    builder_.begin_batch(batch.raw());
    builder_.begin_request();
    account = protocols::FlatReader().read(body, {true, true}, builder_);
    if (!account.fatal.empty()) builder_.undo_request();
    return Code::ok;
  }

 private:
  receive::SampleBuilder builder_;
};

std::string record_of(Maker &maker) {
  std::string record;
  REQUIRE(core::encode_flat(maker.batch.raw(), maker.symbols, record).ok());
  return record;
}

void declare(core::Symbols &symbols, std::string_view name, uint32_t kind, std::string_view unit) {
  symbols.declare(name, {sizeof(atalaya_metric_info), kind, -1, 0, str(unit), str("A summary."), {}}, "a test");
}

}  // namespace

TEST_CASE("receive: flat records keep kinds, windows, tags and the declarations of metrics") {
  Maker maker;
  declare(maker.symbols, "acme.jobs", ATALAYA_DELTA, "{job}");
  maker.count(maker.add(ATALAYA_METRICS, {{"host", "h"}, {"pid", "7"}}), "acme.jobs", 3);
  maker.field(maker.batch.raw().samples[0], "acme.load", 0.25);
  maker.count(maker.add(ATALAYA_STACK, {{"host", "h"}}, "main;work"), "profile.samples", 4);
  maker.add(ATALAYA_SPAN, {{"job", "j"}}, "map").duration_ns = -1;
  FlatBuilt::max_names = 100;
  FlatBuilt::body = record_of(maker) + record_of(maker);
  Bench<FlatBuilt> bench;
  REQUIRE(bench.collect(window_at()).ok());
  CHECK(FlatBuilt::account.good == 6);
  CHECK(FlatBuilt::account.failed == 0);
  REQUIRE(bench.batch.count() == 6);
  for (uint64_t i = 0; i < 6; ++i) {
    CHECK(bench.batch.raw().samples[i].kind == i % 3);
    CHECK(bench.batch.raw().samples[i].time_ns == 1'795'219'532'123'456'789);
    CHECK(bench.batch.raw().samples[i].duration_ns == (i % 3 == 2 ? -1 : 5'000'000'000));
  }
  CHECK(bench.lines()[0].find("host=h pid=7 | acme.jobs=3i acme.load=0.25") != std::string::npos);
  const atalaya_metric_info *info = bench.symbols.metric(bench.symbols.find("acme.jobs"));
  REQUIRE(info != nullptr);
  CHECK(info->kind == ATALAYA_DELTA);
  CHECK(core::view_of(info->unit) == "{job}");
  CHECK(core::view_of(info->summary) == "A summary.");
}

TEST_CASE("receive: the first declaration of a metric holds on a hub") {
  Maker maker;
  declare(maker.symbols, "acme.jobs", ATALAYA_DELTA, "{job}");
  maker.count(maker.add(ATALAYA_METRICS, {}), "acme.jobs", 3);
  FlatBuilt::body = record_of(maker);
  Bench<FlatBuilt> bench;
  declare(bench.symbols, "acme.jobs", ATALAYA_TOTAL, "{job}");
  REQUIRE(bench.collect(window_at()).ok());
  REQUIRE(bench.collect(window_at()).ok());
  CHECK(bench.symbols.metric(bench.symbols.find("acme.jobs"))->kind == ATALAYA_TOTAL);
  CHECK(bench.symbols.catalogue().conflicts() == 2);
}

TEST_CASE("receive: names and declarations of flat records are limited") {
  Maker maker;
  for (const char *name : {"a", "b", "c", "d"}) {
    declare(maker.symbols, name, ATALAYA_GAUGE, "1");
    maker.count(maker.add(ATALAYA_METRICS, {}), name, 1);
  }
  FlatBuilt::max_names = 2;
  FlatBuilt::body = record_of(maker);
  Bench<FlatBuilt> bench;
  REQUIRE(bench.collect(window_at()).ok());
  FlatBuilt::max_names = 100;
  CHECK(FlatBuilt::account.good == 2);
  CHECK(FlatBuilt::account.failed == 2);
  CHECK(bench.symbols.catalogue().size() == 2);
}

TEST_CASE("receive: a damaged or cut record refuses the whole body") {
  Maker maker;
  maker.count(maker.add(ATALAYA_METRICS, {{"host", "h"}}), "x", 1);
  const std::string good = record_of(maker);
  std::string damaged = good;
  damaged.back() = 'x';
  for (const std::string &bad : {good + damaged, good + good.substr(0, 80), good + "text"}) {
    FlatBuilt::body = bad;
    Bench<FlatBuilt> bench;
    REQUIRE(bench.collect(window_at()).ok());
    CHECK(FlatBuilt::account.fatal != "");
    CHECK(FlatBuilt::account.good == 0);
    CHECK(bench.batch.count() == 0);
  }
}

}  // namespace atalaya::testing
