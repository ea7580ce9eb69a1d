// SPDX-License-Identifier: Apache-2.0
// A sink with a spool in an engine: acknowledgement, the end, restarts, reloads.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "core/base/encode/flat.h"
#include "core/delivery/spool_view.h"
#include "core/pipeline/engine.h"
#include "tests/unit/core/pipeline/test_components.h"
#include "tests/unit/temporary_folder.h"

using namespace atalaya::core;
using namespace atalaya::core::test;
using atalaya::testing::TemporaryFolder;

namespace {

StageDescription keep_in(Builder &builder, const std::string &dir, int64_t number = 0) {
  StageDescription sink = builder.make(ATALAYA_SINK, "keep", {{"number", number}});
  sink.spool = {
      .dir = dir, .max_bytes = int64_t{64} << 20, .min_free_bytes = 0, .max_age_ns = 0, .sync_ns = 0, .when_full = WhenFull::block};
  return sink;
}

FileDescription file_of(Builder &builder, const std::string &source, StageDescription sink) {
  FileDescription file;
  file.sinks.push_back(std::move(sink));
  file.pipelines.push_back(builder.pipeline("p", {builder.make(ATALAYA_SOURCE, source)}, {}, {0}));
  return file;
}

Engine::Options quick() {
  return {.flush_deadline_ns = 60'000'000'000, .host = "testhost"};
}

LedgerRow sink_row(Engine &engine, const std::string &component = "sink keep") {
  const auto rows = engine.ledger().snapshot();
  const LedgerRow *row = find_row(rows, "p", component);
  REQUIRE(row != nullptr);
  CHECK(row->imbalance() == 0);
  return *row;
}

bool consecutive(const std::vector<int64_t> &values) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<int64_t>(i)) return false;
  return true;
}

}  // namespace

TEST_CASE("a pushed batch is acknowledged when the spool has it, though the sink does not take it") {
  script().reset();
  script().write_code = ATALAYA_RETRY;
  script().push_batches = 5;
  const TemporaryFolder folder;
  Builder builder;
  Engine engine(builder.symbols, quick());
  REQUIRE(engine.start(file_of(builder, "pushed", keep_in(builder, folder / "s"))).ok());
  RunningEngine running(engine);
  REQUIRE(script().wait([] { return script().acked.size() >= 5; }));
  for (const auto &[id, status] : script().acked) CHECK(status == ATALAYA_OK);
  CHECK(running.stop());
  const LedgerRow row = sink_row(engine);
  CHECK(row.counts.queued == 50);
  CHECK(row.counts.spooled == 50);
  CHECK(row.counts.dropped == 0);
}

TEST_CASE("batches that one engine leaves the next one delivers, in order, and its ledger continues") {
  script().reset();
  const TemporaryFolder folder;
  int64_t accepted = 0;
  for (int round = 0; round < 4; ++round) {
    CAPTURE(round);
    script().write_code = round % 2 == 0 ? ATALAYA_RETRY : ATALAYA_OK;
    const int64_t before = script().given;
    Builder builder;
    Engine engine(builder.symbols, quick());
    REQUIRE(engine.start(file_of(builder, "numbers", keep_in(builder, folder / "s"))).ok());
    CHECK(sink_row(engine).counts.in == accepted);
    RunningEngine running(engine);
    REQUIRE(script().wait([&] { return script().given >= before + 50; }));
    CHECK(running.stop());
    const LedgerRow row = sink_row(engine);
    accepted = row.counts.in;
    CHECK(accepted == script().given);
    CHECK(row.counts.dropped == 0);
    CHECK(row.counts.queued == row.counts.spooled);
    CHECK(row.counts.out == static_cast<int64_t>(script().kept[0].size()));
    if (round % 2 == 1) CHECK(row.counts.queued == 0);
  }
  CHECK(consecutive(script().kept[0]));
}

TEST_CASE("declarations of metrics are in the spool once, and the next engine has them") {
  script().reset();
  const TemporaryFolder folder;
  {
    Builder builder;
    builder.symbols.declare("test.value", {sizeof(atalaya_metric_info), ATALAYA_TOTAL, -1, 0, {"By", 2}, {}, {}}, "a test");
    Engine engine(builder.symbols, quick());
    REQUIRE(engine.start(file_of(builder, "numbers", keep_in(builder, folder / "s"))).ok());
    RunningEngine running(engine);
    REQUIRE(script().wait([] { return script().kept[0].size() >= 10; }));  // the record that has them is gone
    script().write_code = ATALAYA_RETRY;
    const int64_t before = script().given;
    REQUIRE(script().wait([&] { return script().given >= before + 50; }));
    CHECK(running.stop());
  }
  const auto view = view_spool(folder / "s");
  REQUIRE(view.ok());
  std::vector<size_t> declared;
  for (const auto &segment : SpoolView(view.value()).segments) {
    auto reader = SegmentReader::open(segment.path, 0);
    REQUIRE(reader.ok());
    for (uint64_t at = reader->begin(); at < segment.size;) {
      const auto found = reader->at(at, segment.size);
      declared.push_back(FlatRecord::read(found.payload).value().metrics().size());
      at += found.size;
    }
  }
  REQUIRE(declared.size() > 2);
  CHECK(declared[0] == 1);
  CHECK(std::count(declared.begin(), declared.end(), 1u) == 1);

  script().write_code = ATALAYA_OK;
  const size_t kept = script().kept[0].size();
  Builder builder;
  Engine engine(builder.symbols, quick());
  REQUIRE(engine.start(file_of(builder, "numbers", keep_in(builder, folder / "s"))).ok());
  RunningEngine running(engine);
  REQUIRE(script().wait([&] { return script().kept[0].size() > kept; }));
  CHECK(running.stop());
  const atalaya_metric_info *info = builder.symbols.metric(builder.symbols.intern("test.value"));
  REQUIRE(info != nullptr);
  CHECK(info->kind == ATALAYA_TOTAL);
  CHECK(view_of(info->unit) == "By");
}

TEST_CASE("a reload hands the spool to the sink's successor, and the ledger counts nothing twice") {
  script().reset();
  script().failing = 0;
  const TemporaryFolder folder;
  Builder builder;
  Engine engine(builder.symbols, quick());
  REQUIRE(engine.start(file_of(builder, "numbers", keep_in(builder, folder / "s"))).ok());
  RunningEngine running(engine);
  REQUIRE(script().wait([] { return script().given >= 50; }));
  // Another sink in front takes the name "sink keep": the spool's samples move to the row "sink keep 2".
  FileDescription file = file_of(builder, "numbers", keep_in(builder, folder / "s", 1));
  file.sinks.insert(file.sinks.begin(), builder.make(ATALAYA_SINK, "keep", {{"number", 2}}));
  file.pipelines[0].sinks = {0, 1};
  REQUIRE(engine.reload(std::move(file)).get().ok());
  const int64_t given = script().given;
  REQUIRE(script().wait([&] { return script().kept[1].size() >= static_cast<size_t>(given); }));
  CHECK(running.stop());
  const LedgerRow second = sink_row(engine, "sink keep 2");
  const LedgerRow first = sink_row(engine);
  CHECK(second.counts.queued == 0);
  CHECK(first.counts.queued == 0);
  CHECK(first.counts.spooled == 0);
  CHECK(second.counts.out == static_cast<int64_t>(script().kept[1].size()));
  CHECK(consecutive(script().kept[1]));
  CHECK(static_cast<int64_t>(script().kept[1].size()) == script().given);
}

TEST_CASE("refused batches, and batches that do not fit, are counted permanently") {
  script().reset();
  script().write_code = ATALAYA_PERMANENT;
  const TemporaryFolder folder;
  int64_t refused = 0;
  {
    Builder builder;
    Engine engine(builder.symbols, quick());
    REQUIRE(engine.start(file_of(builder, "numbers", keep_in(builder, folder / "s"))).ok());
    RunningEngine running(engine);
    REQUIRE(script().wait([] { return script().writes >= 5; }));
    CHECK(running.stop());
    refused = sink_row(engine).reasons.at("refused");
    CHECK(refused >= 50);
  }
  Builder builder;
  Engine engine(builder.symbols, quick());
  REQUIRE(engine.start(file_of(builder, "numbers", keep_in(builder, folder / "s"))).ok());
  CHECK(sink_row(engine).reasons.at("refused") == refused);
}

TEST_CASE("a spool that is full and blocks pauses the source, and continues when the sink does") {
  script().reset();
  script().write_code = ATALAYA_RETRY;
  script().per_window = 20000;
  const TemporaryFolder folder;
  Builder builder;
  Engine engine(builder.symbols, quick());
  StageDescription sink = keep_in(builder, folder / "s");
  sink.spool.max_bytes = int64_t{4} << 20;
  sink.queue.max_bytes = 1;
  REQUIRE(engine.start(file_of(builder, "numbers", sink)).ok());
  RunningEngine running(engine);
  const auto gaps = [&] {
    const auto rows = engine.ledger().snapshot();
    return find_row(rows, "p", "1 source numbers")->counts.gaps;
  };
  REQUIRE(script().wait([&] { return gaps() >= 3; }));
  const int64_t given = script().given;
  script().write_code = ATALAYA_OK;
  REQUIRE(script().wait([&] { return script().kept[0].size() > static_cast<size_t>(given); }));
  CHECK(running.stop());
  CHECK(sink_row(engine).counts.dropped == 0);
  CHECK(consecutive(script().kept[0]));
}
