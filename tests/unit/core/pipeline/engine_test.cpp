// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/engine.h"

#include <doctest/doctest.h>
#include <malloc.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "core/pipeline/source_thread.h"
#include "tests/unit/core/pipeline/test_components.h"

using namespace atalaya::core;
using namespace atalaya::core::test;

namespace {

FileDescription one_pipeline(Builder &builder, std::vector<StageDescription> stages, StageDescription sink) {
  FileDescription file;
  file.sinks.push_back(std::move(sink));
  file.pipelines.push_back(builder.pipeline("p", {builder.make(ATALAYA_SOURCE, "numbers")}, std::move(stages), {0}));
  return file;
}

Engine::Options quick() {
  return {.flush_deadline_ns = 60'000'000'000, .host = "testhost"};
}

const std::vector<int64_t> &kept(size_t number) {
  return script().kept[number];
}

bool consecutive(const std::vector<int64_t> &values) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<int64_t>(i)) return false;
  return true;
}

}  // namespace

TEST_CASE("samples go through the stages in order into the sink, and the ledger knows each") {
  script().reset();
  Builder builder;
  Engine engine(builder.symbols, quick());
  FileDescription file = one_pipeline(builder, {builder.make(ATALAYA_FILTER, "even")}, builder.make(ATALAYA_SINK, "keep"));
  REQUIRE(engine.start(std::move(file)).ok());
  RunningEngine running(engine);
  REQUIRE(script().wait([] { return kept(0).size() >= 20; }));
  CHECK(running.stop());
  const auto rows = engine.ledger().snapshot();
  check_balance(rows);
  const LedgerRow *source = find_row(rows, "p", "1 source numbers");
  const LedgerRow *filter = find_row(rows, "p", "2 filter even");
  const LedgerRow *sink = find_row(rows, "p", "sink keep");
  REQUIRE(source != nullptr);
  REQUIRE(filter != nullptr);
  REQUIRE(sink != nullptr);
  CHECK(source->counts.out == script().given);
  CHECK(filter->counts.out * 2 == filter->counts.in);
  CHECK(filter->reasons.at("filtered") == filter->counts.dropped);
  CHECK(sink->counts.out == static_cast<int64_t>(kept(0).size()));
  for (size_t i = 0; i < kept(0).size(); ++i) CHECK(kept(0)[i] == static_cast<int64_t>(2 * i));
}

TEST_CASE("a branch works on a copy: its filter does not change the input of the others") {
  script().reset();
  Builder builder;
  Engine engine(builder.symbols, quick());
  FileDescription file = one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep"));
  file.sinks.push_back(builder.make(ATALAYA_SINK, "keep", {{"number", 1}}));
  file.sinks.push_back(builder.make(ATALAYA_SINK, "keep", {{"number", 2}}));
  PipelineDescription sums =
      builder.pipeline("sums", {}, {builder.make(ATALAYA_FILTER, "even"), builder.make(ATALAYA_TRANSLATOR, "total")}, {1});
  sums.from = "p";
  PipelineDescription same = builder.pipeline("same", {}, {}, {2, 0});
  same.from = "p";
  file.pipelines.push_back(sums);
  file.pipelines.push_back(same);
  REQUIRE(engine.start(std::move(file)).ok());
  RunningEngine running(engine);
  REQUIRE(script().wait([] { return kept(1).size() >= 3; }));
  CHECK(running.stop());
  const auto rows = engine.ledger().snapshot();
  CHECK(std::all_of(rows.begin(), rows.end(), [](const LedgerRow &row) { return row.imbalance() == 0; }));
  CHECK(consecutive(kept(2)));
  CHECK(kept(0).size() == 2 * kept(2).size());  // once from p, once from its branch
  const std::vector<int64_t> first_sums = {0 + 2 + 4 + 6 + 8, 10 + 12 + 14 + 16 + 18, 20 + 22 + 24 + 26 + 28};
  CHECK(std::equal(first_sums.begin(), first_sums.end(), kept(1).begin()));
  CHECK(find_row(rows, "sums", "1 from p")->counts.in == find_row(rows, "p", "1 source numbers")->counts.out);
  CHECK(find_row(rows, "sums", "3 translator total")->counts.merged == find_row(rows, "sums", "3 translator total")->counts.in);
}

TEST_CASE("a stage that removes most samples costs the memory of few batches, however many windows pass") {
  script().reset();
  script().per_window = 50'000;
  Builder builder;
  Engine engine(builder.symbols, quick());
  REQUIRE(
      engine.start(one_pipeline(builder, {builder.make(ATALAYA_TRANSLATOR, "total")}, builder.make(ATALAYA_SINK, "keep"))).ok());
  RunningEngine running(engine);
  const auto held_after = [](size_t windows) {
    REQUIRE(script().wait([&] { return kept(0).size() >= windows; }));
    const auto heap = ::mallinfo2();  // all 0 with a sanitizer's allocator
    return heap.uordblks + heap.hblkhd;
  };
  const size_t after_start = held_after(5), later = held_after(40);
  CHECK(running.stop());
  CHECK(later < after_start + 2 * 50'000 * (sizeof(atalaya_sample) + sizeof(atalaya_field)));
}

TEST_CASE("a full queue that blocks pauses the source, loses nothing and continues when there is room") {
  script().reset();
  script().hold_writes = true;
  Builder builder;
  Engine engine(builder.symbols, quick());
  StageDescription sink = builder.make(ATALAYA_SINK, "keep");
  sink.queue.max_bytes = 1;
  REQUIRE(engine.start(one_pipeline(builder, {}, sink)).ok());
  RunningEngine running(engine);
  const auto gaps = [&] {
    const auto rows = engine.ledger().snapshot();
    return find_row(rows, "p", "1 source numbers")->counts.gaps;
  };
  REQUIRE(script().wait([&] { return gaps() >= 3; }));
  const int64_t given = script().given;
  {
    const std::lock_guard lock(script().mutex);
    script().hold_writes = false;
  }
  script().notify();
  REQUIRE(script().wait([&] { return kept(0).size() > static_cast<size_t>(given) + 20; }));
  CHECK(running.stop());
  const auto rows = engine.ledger().snapshot();
  check_balance(rows);
  CHECK(find_row(rows, "p", "sink keep")->counts.dropped == 0);
  CHECK(consecutive(kept(0)));
  CHECK(static_cast<int64_t>(kept(0).size()) == script().given);
}

TEST_CASE("a full queue that drops counts the dropped batches, oldest or newest") {
  for (const WhenFull policy : {WhenFull::drop_oldest, WhenFull::drop_newest}) {
    script().reset();
    script().hold_writes = true;
    Builder builder;
    Engine engine(builder.symbols, quick());
    StageDescription sink = builder.make(ATALAYA_SINK, "keep");
    sink.queue = {1, policy};
    REQUIRE(engine.start(one_pipeline(builder, {}, sink)).ok());
    RunningEngine running(engine);
    REQUIRE(script().wait([] { return script().writes >= 1 && script().collects >= 6; }));
    check_balance(engine.ledger().snapshot());
    {
      const std::lock_guard lock(script().mutex);
      script().hold_writes = false;
    }
    script().notify();
    CHECK(running.stop());
    const auto rows = engine.ledger().snapshot();
    check_balance(rows);
    const LedgerRow *row = find_row(rows, "p", "sink keep");
    CHECK(row->counts.dropped >= 30);
    CHECK(row->reasons.at("queue full") == row->counts.dropped);
    CHECK(static_cast<int64_t>(kept(0).size()) + row->counts.dropped == script().given);
    CHECK(kept(0)[0] == script().first_written);  // a batch that is being written is never dropped
  }
}

TEST_CASE("a sink that fails for a while gets everything in the end, once") {
  script().reset();
  script().write_code = ATALAYA_RETRY;
  Builder builder;
  Engine engine(builder.symbols, quick());
  REQUIRE(engine.start(one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep"))).ok());
  RunningEngine running(engine);
  REQUIRE(script().wait([] { return script().writes >= 4; }));
  check_balance(engine.ledger().snapshot());
  script().write_code = ATALAYA_OK;
  REQUIRE(script().wait([] { return kept(0).size() >= 30; }));
  CHECK(running.stop());
  CHECK(consecutive(kept(0)));
  const auto rows = engine.ledger().snapshot();
  check_balance(rows);
  CHECK(find_row(rows, "p", "sink keep")->counts.errors >= 3);
  CHECK(static_cast<int64_t>(kept(0).size()) == script().given);
}

TEST_CASE("refused samples, whole batches or single ones, are dropped with the reason of the sink") {
  script().reset();
  script().write_code = ATALAYA_PERMANENT;
  Builder builder;
  Engine engine(builder.symbols, quick());
  REQUIRE(engine.start(one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep", {{"refuse", 3}}))).ok());
  RunningEngine running(engine);
  REQUIRE(script().wait([] { return script().writes >= 2; }));
  script().write_code = ATALAYA_OK;
  REQUIRE(script().wait([] { return kept(0).size() >= 14; }));
  CHECK(running.stop());
  const auto rows = engine.ledger().snapshot();
  check_balance(rows);
  const LedgerRow *row = find_row(rows, "p", "sink keep");
  CHECK(row->reasons.at("refused") >= 20);
  CHECK(row->reasons.at("refused by the test") * 7 == row->counts.out * 3);
}

TEST_CASE("batches that cannot be delivered before the deadline are counted, and stopping takes no longer") {
  script().reset();
  script().write_code = ATALAYA_RETRY;
  Builder builder;
  Engine engine(builder.symbols, {.flush_deadline_ns = 50'000'000, .host = "testhost"});
  REQUIRE(engine.start(one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep"))).ok());
  RunningEngine running(engine);
  REQUIRE(script().wait([] { return script().writes >= 2; }));
  CHECK(running.stop());
  const auto rows = engine.ledger().snapshot();
  check_balance(rows);
  const LedgerRow *row = find_row(rows, "p", "sink keep");
  CHECK(row->counts.queued == 0);
  CHECK(row->reasons.at("shutdown") == script().given);
}

TEST_CASE("a function that takes long delays its own pipelines; the others keep their windows, and reload and end wait for it") {
  // Holds each call until it is released.
  struct Held final : FunctionHost {
    Result apply(int, Batch &, bool) override {
      std::unique_lock lock(script().mutex);
      ++calls;
      script().notify();
      script().changed.wait(lock, [this] { return released; });
      return {};
    }
    int calls = 0;
    bool released = false;
  };
  script().reset();
  Builder builder;
  Engine engine(builder.symbols, quick());
  const auto held = std::make_shared<Held>();
  const auto release = [&held] {
    const std::lock_guard lock(script().mutex);
    held->released = true;
    script().notify();
  };
  FileDescription file;
  for (int64_t number = 0; number < 3; ++number) file.sinks.push_back(builder.make(ATALAYA_SINK, "keep", {{"number", number}}));
  StageDescription function;
  function.kind = ATALAYA_TRANSLATOR;
  function.name = "function";
  function.function = 1;
  file.pipelines.push_back(builder.pipeline("slow", {builder.make(ATALAYA_SOURCE, "numbers")}, {function}, {0}));
  file.pipelines.back().functions = held;
  file.pipelines.push_back(builder.pipeline("branch", {}, {}, {2}));
  file.pipelines.back().from = "slow";
  file.pipelines.push_back(builder.pipeline("quick", {builder.make(ATALAYA_SOURCE, "numbers")}, {}, {1}));
  REQUIRE(engine.start(file).ok());
  RunningEngine running(engine);
  const bool others_continue = script().wait([&] { return held->calls == 1 && kept(1).size() >= 200; });
  release();
  CHECK(others_continue);
  CHECK(script().wait([&] { return held->calls > 3 && kept(2).size() >= 30; }));
  CHECK(engine.reload(file).get().ok());
  const size_t before = kept(0).size();
  CHECK(script().wait([&] { return kept(0).size() > before + 30; }));
  CHECK(running.stop());
  check_balance(engine.ledger().snapshot());
  CHECK(kept(0) == kept(2));
}

TEST_CASE("a push source receives the result of every batch") {
  script().reset();
  script().push_batches = 50;
  Builder builder;
  Engine engine(builder.symbols, quick());
  FileDescription file = one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep"));
  file.sinks[0].queue.max_bytes = 4096;  // back-pressure on the way
  file.sinks.push_back(builder.make(ATALAYA_SINK, "keep", {{"number", 1}}));
  file.pipelines[0].sources = {builder.make(ATALAYA_SOURCE, "pushed")};
  file.pipelines[0].sinks = {0, 1};
  REQUIRE(engine.start(std::move(file)).ok());
  // The source ends by itself, and with it the engine.
  CHECK(engine.run());
  CHECK(script().acked.size() == 50);
  CHECK(std::all_of(script().acked.begin(), script().acked.end(), [](const auto &ack) { return ack.second == ATALAYA_OK; }));
  CHECK(kept(0).size() == 500);
  CHECK(consecutive(kept(0)));
  CHECK(consecutive(kept(1)));
  check_balance(engine.ledger().snapshot());
}

TEST_CASE("a push source is notified when a batch was refused") {
  script().reset();
  script().push_batches = 3;
  script().write_code = ATALAYA_PERMANENT;
  Builder builder;
  Engine engine(builder.symbols, quick());
  FileDescription file = one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep"));
  file.pipelines[0].sources = {builder.make(ATALAYA_SOURCE, "pushed")};
  REQUIRE(engine.start(std::move(file)).ok());
  CHECK(engine.run());
  CHECK(script().acked.size() == 3);
  CHECK(std::all_of(script().acked.begin(), script().acked.end(), [](const auto &ack) { return ack.second == ATALAYA_PERMANENT; }));
}

TEST_CASE("a source that may block works on a separate thread") {
  script().reset();
  Builder builder;
  Engine engine(builder.symbols, quick());
  FileDescription file = one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep"));
  file.pipelines[0].sources = {builder.make(ATALAYA_SOURCE, "blocking")};
  REQUIRE(engine.start(std::move(file)).ok());
  RunningEngine running(engine);
  REQUIRE(script().wait([] { return kept(0).size() >= 30; }));
  CHECK(running.stop());
  CHECK(consecutive(kept(0)));
  check_balance(engine.ledger().snapshot());
}

TEST_CASE("a requested window of a source on a separate thread is collected, also if the end comes at once") {
  script().reset();
  Builder builder;
  Ledger ledger;
  const StageDescription source = builder.make(ATALAYA_SOURCE, "blocking");
  for (int i = 0; i < 100; ++i) {
    SourceThread thread(ledger, "", BatchPool::make(), [] {});
    auto instance = Instance::create(source.component, source.parameters, "blocking", builder.symbols, thread);
    REQUIRE(instance.ok());
    REQUIRE((*instance)->start().ok());
    thread.run(**instance);
    REQUIRE(thread.request({}));
    REQUIRE(thread.stop(INT64_MAX / 2));
    REQUIRE(thread.take());
  }
}

TEST_CASE("a source on a separate thread hands on held samples after its last window, also if the end comes in that window") {
  script().reset();
  Builder builder;
  Ledger ledger;
  const StageDescription source = builder.make(ATALAYA_SOURCE, "late");
  for (int i = 0; i < 100; ++i) {
    SourceThread thread(ledger, "", BatchPool::make(), [] {});
    auto instance = Instance::create(source.component, source.parameters, "late", builder.symbols, thread);
    REQUIRE(instance.ok());
    REQUIRE((*instance)->start().ok());
    thread.run(**instance);
    REQUIRE(thread.request({sizeof(atalaya_window), 0, 1'000'000'000, 1'000'000'000, 1'000'000'000, 0}));
    REQUIRE(thread.stop(INT64_MAX / 2, true));
    const auto window = thread.take(), last = thread.take();
    REQUIRE(window);
    REQUIRE(last);
    CHECK(window->batch->count() == 0);
    CHECK(last->batch->count() == 1);
    CHECK(last->window.time_ns == window->window.time_ns);
    CHECK(last->window.duration_ns == 0);
    CHECK_FALSE(thread.take());
  }
}

TEST_CASE("a source on a separate thread without a window holds nothing") {
  script().reset();
  Builder builder;
  Ledger ledger;
  const StageDescription source = builder.make(ATALAYA_SOURCE, "late");
  SourceThread thread(ledger, "", BatchPool::make(), [] {});
  auto instance = Instance::create(source.component, source.parameters, "late", builder.symbols, thread);
  REQUIRE(instance.ok());
  REQUIRE((*instance)->start().ok());
  thread.run(**instance);
  REQUIRE(thread.stop(INT64_MAX / 2, true));
  CHECK_FALSE(thread.take());
}

TEST_CASE("a failing source is collected less and less often, and an unsupported one not at all") {
  script().reset();
  script().collect_code = ATALAYA_PERMANENT;
  Builder builder;
  Engine engine(builder.symbols, quick());
  REQUIRE(engine.start(one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep"))).ok());
  RunningEngine running(engine);
  // One window is skipped after the second failure, three after the third.
  REQUIRE(script().wait([&] {
    const auto rows = engine.ledger().snapshot();
    return find_row(rows, "p", "1 source numbers")->counts.gaps >= 4;
  }));
  script().collect_code = ATALAYA_OK;
  REQUIRE(script().wait([] { return kept(0).size() >= 10; }));
  script().collect_code = ATALAYA_UNSUPPORTED;
  // Its only source is off: the engine ends by itself; stop only joins.
  CHECK(running.stop());
  check_balance(engine.ledger().snapshot());
}

TEST_CASE("an error at the start names file, line and component, and leaves nothing running") {
  script().reset();
  Builder builder;
  Engine engine(builder.symbols, quick());
  FileDescription file = one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep"));
  file.sinks.push_back(builder.make(ATALAYA_SINK, "keep", {{"number", 3}}));
  file.pipelines[0].sinks = {0, 1};
  const Status started = engine.start(std::move(file));
  REQUIRE_FALSE(started.ok());
  CHECK(started.error() == "test.lua:7: sink \"keep\": number 3 does not start");
  CHECK(script().starts == 0);
}

TEST_CASE("a reload that is requested between start and run is done, one before the start is refused") {
  script().reset();
  Builder builder;
  Engine engine(builder.symbols, quick());
  CHECK(engine.reload(one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep"))).get().error() == "the agent is not running");
  REQUIRE(engine.start(one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep"))).ok());
  std::future<Status> early =
      engine.reload(one_pipeline(builder, {builder.make(ATALAYA_FILTER, "even")}, builder.make(ATALAYA_SINK, "keep")));
  RunningEngine running(engine);
  CHECK(early.get().ok());
  CHECK(running.stop());
}

TEST_CASE("a reload restarts the changed parts and leaves the rest untouched: nothing lost, nothing doubled") {
  script().reset();
  Builder builder;
  Engine engine(builder.symbols, quick());
  const auto file = [&](int64_t other_group, bool broken) {
    FileDescription made = one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep"));
    made.sinks.push_back(builder.make(ATALAYA_SINK, "keep", {{"number", broken ? 3 : 1}}));
    made.pipelines.push_back(builder.pipeline("other", {builder.make(ATALAYA_SOURCE, "blocking", {{"group", other_group}})},
                                              {builder.make(ATALAYA_FILTER, "even")}, {1}));
    return made;
  };
  REQUIRE(engine.start(file(1, false)).ok());
  RunningEngine running(engine);
  REQUIRE(script().wait([] { return kept(0).size() >= 10; }));
  CHECK(script().starts == 2);
  for (int64_t i = 0; i < 20; ++i) REQUIRE(engine.reload(file(i % 2, false)).get().ok());
  CHECK(script().starts == 2 + 20);  // the changed pipeline's source, each time
  CHECK(script().stops >= 20);

  const Status refused = engine.reload(file(5, true)).get();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error() == "test.lua:7: sink \"keep\": number 3 does not start; the old file runs on");
  const size_t had = [] {
    const std::lock_guard lock(script().mutex);
    return kept(0).size() + kept(1).size();
  }();
  REQUIRE(script().wait([&] { return kept(0).size() + kept(1).size() > had + 40; }));  // the old one runs on
  CHECK(running.stop());
  // Both sources draw from one counter: every number came exactly once, or the filter dropped it.
  std::vector<int64_t> all = kept(0);
  all.insert(all.end(), kept(1).begin(), kept(1).end());
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  const auto rows = engine.ledger().snapshot();
  CHECK(std::all_of(rows.begin(), rows.end(), [](const LedgerRow &row) { return row.imbalance() == 0; }));
  CHECK(static_cast<int64_t>(all.size()) + find_row(rows, "other", "2 filter even")->counts.dropped == script().given);
}

TEST_CASE("sources and stages that hold samples hand them on before they stop, at the end and on a reload, and branches get them") {
  script().reset();
  Builder builder;
  Engine engine(builder.symbols, quick());
  const auto file = [&](int64_t group) {
    FileDescription made = one_pipeline(builder, {builder.make(ATALAYA_FILTER, "hold")}, builder.make(ATALAYA_SINK, "keep"));
    made.pipelines[0].sources = {builder.make(ATALAYA_SOURCE, "late", {{"group", group}})};
    made.sinks.push_back(builder.make(ATALAYA_SINK, "keep", {{"number", 1}}));
    made.pipelines.push_back(builder.pipeline("branch", {}, {builder.make(ATALAYA_FILTER, "hold")}, {1}));
    made.pipelines.back().from = made.pipelines[0].name;
    return made;
  };
  REQUIRE(engine.start(file(1)).ok());
  RunningEngine running(engine);
  REQUIRE(script().wait([] { return script().collects >= 5; }));
  {
    const std::lock_guard lock(script().mutex);
    CHECK(kept(0).empty());
  }
  REQUIRE(engine.reload(file(2)).get().ok());
  REQUIRE(script().wait([] { return kept(0).size() >= 5 && kept(1).size() >= 5; }));
  REQUIRE(script().wait([collects = script().collects + 5] { return script().collects >= collects; }));
  CHECK(running.stop());
  for (const size_t number : {0, 1}) {
    CHECK(consecutive(kept(number)));
    CHECK(static_cast<int64_t>(kept(number).size()) == script().given);
  }
  const auto rows = engine.ledger().snapshot();
  CHECK(std::all_of(rows.begin(), rows.end(), [](const LedgerRow &row) { return row.imbalance() == 0; }));
}

namespace {

// Two independent pipelines, each with a separate sink.
FileDescription two_pipelines(Builder &builder, int64_t refuse_of_first) {
  FileDescription file = one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep", {{"refuse", refuse_of_first}}));
  file.sinks.push_back(builder.make(ATALAYA_SINK, "keep", {{"number", 1}}));
  file.pipelines.push_back(builder.pipeline("other", {builder.make(ATALAYA_SOURCE, "numbers")}, {}, {1}));
  return file;
}

}  // namespace

TEST_CASE("a sink that a reload removes delivers its queue in parallel to the others, which do not wait for it") {
  script().reset();
  script().failing = 0;
  Builder builder;
  Engine engine(builder.symbols, {.flush_deadline_ns = 60'000'000'000, .host = "testhost"});
  REQUIRE(engine.start(two_pipelines(builder, 0)).ok());
  RunningEngine running(engine);
  REQUIRE(script().wait([] { return script().writes >= 3 && kept(1).size() >= 20; }));
  REQUIRE(engine.reload(two_pipelines(builder, 1)).get().ok());
  const auto row = [&] { return *find_row(engine.ledger().snapshot(), "p", "sink keep"); };
  CHECK(row().counts.queued > 0);  // the reload did not wait for it
  const size_t other = [] {
    const std::lock_guard lock(script().mutex);
    return kept(1).size();
  }();
  REQUIRE(script().wait([&] { return kept(1).size() > other + 20; }));
  script().failing = -1;
  REQUIRE(script().wait([] { return kept(0).size() >= 20; }));
  CHECK(running.stop());
  check_balance(engine.ledger().snapshot());
  // The new sink has the old one's name and row; only the samples that it was set to refuse are missing.
  CHECK(row().counts.dropped == row().reasons.at("refused by the test"));
}

TEST_CASE("when neither the new nor the old file starts again, the rest still runs and the next reload fixes it") {
  script().reset();
  Builder builder;
  Engine engine(builder.symbols, quick());
  REQUIRE(engine.start(two_pipelines(builder, 0)).ok());
  RunningEngine running(engine);
  REQUIRE(script().wait([] { return kept(0).size() >= 10 && kept(1).size() >= 10; }));
  script().refuses_start = 0;
  const Status refused = engine.reload(two_pipelines(builder, 1)).get();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error() ==
        "test.lua:7: sink \"keep\": set to refuse start; of the old file only a part runs on: test.lua:7: sink \"keep\": set to "
        "refuse start");
  const auto sizes = [] {
    const std::lock_guard lock(script().mutex);
    return std::pair(kept(0).size(), kept(1).size());
  };
  // Batches that the stopped one had taken are delivered in parallel to the reload.
  REQUIRE(script().wait([&] {
    const auto rows = engine.ledger().snapshot();
    const LedgerRow *row = find_row(rows, "p", "sink keep");
    return row == nullptr || row->counts.queued == 0;
  }));
  const auto before = sizes();
  REQUIRE(script().wait([&] { return kept(1).size() > before.second + 30; }));
  CHECK(sizes().first == before.first);
  script().refuses_start = -1;
  REQUIRE(engine.reload(two_pipelines(builder, 0)).get().ok());
  REQUIRE(script().wait([&] { return kept(0).size() > before.first + 20; }));
  CHECK(running.stop());
  check_balance(engine.ledger().snapshot());
}

TEST_CASE("an agent whose only source cannot work here reports that at the end") {
  script().reset();
  script().collect_code = ATALAYA_UNSUPPORTED;
  Builder builder;
  Engine engine(builder.symbols, quick());
  REQUIRE(engine.start(one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep"))).ok());
  CHECK(engine.run());
  CHECK(engine.gave_up());
}

TEST_CASE("the ledger balances at random moments under load, with branches, slow and failing sinks, and over reloads") {
  script().reset();
  script().per_window = 500;
  Builder builder;
  Engine engine(builder.symbols, quick());
  std::mt19937 random(1);
  const auto file = [&](bool with_branch) {
    StageDescription slow = builder.make(ATALAYA_SINK, "keep", {{"refuse", 7}});
    slow.queue = {200'000, WhenFull::drop_oldest};
    FileDescription made = one_pipeline(builder, {builder.make(ATALAYA_FILTER, "even")}, slow);
    made.pipelines[0].every_ns = 1'000'000;
    made.sinks.push_back(builder.make(ATALAYA_SINK, "keep", {{"number", 1}}));
    if (with_branch) {
      PipelineDescription branch = builder.pipeline("branch", {}, {builder.make(ATALAYA_TRANSLATOR, "total")}, {1});
      branch.from = "p";
      made.pipelines.push_back(branch);
    }
    return made;
  };
  REQUIRE(engine.start(file(true)).ok());
  RunningEngine running(engine);
  for (int i = 0; i < 400; ++i) {
    if (i % 40 == 7) script().write_code = (i / 40) % 2 == 0 ? ATALAYA_RETRY : ATALAYA_OK;
    if (i % 25 == 3) REQUIRE(engine.reload(file(random() % 2 == 0)).get().ok());
    const auto rows = engine.ledger().snapshot();
    int64_t branch_in = 0;
    for (const LedgerRow &row : rows) {
      INFO(row.pipeline, ": ", row.component);
      REQUIRE(row.imbalance() == 0);
      REQUIRE(row.counts.queued >= 0);
      if (row.component == "2 filter even") branch_in = row.counts.out;
    }
    REQUIRE(find_row(rows, "p", "1 source numbers")->counts.out == find_row(rows, "p", "2 filter even")->counts.in);
    REQUIRE(find_row(rows, "p", "sink keep")->counts.in == branch_in);
    // While the sinks fail, full queues pause the source; then the retries continue.
    const int events = script().collects + script().writes;
    REQUIRE(script().wait([&] { return script().collects + script().writes > events; }));
  }
  script().write_code = ATALAYA_OK;
  CHECK(running.stop());
  const auto rows = engine.ledger().snapshot();
  CHECK(std::all_of(rows.begin(), rows.end(), [](const LedgerRow &row) { return row.imbalance() == 0 && row.counts.queued == 0; }));
  CHECK(find_row(rows, "p", "1 source numbers")->counts.out == script().given);
}

TEST_CASE("a sink that hangs in a call cannot keep the agent from ending") {
  script().reset();
  script().hold_writes = true;
  // Left behind with the hanging call, as the real process would end without destructors.
  static Builder &builder = *new Builder;
  static auto *engine = new Engine(builder.symbols, {.flush_deadline_ns = 1, .host = "testhost"});
  REQUIRE(engine->start(one_pipeline(builder, {}, builder.make(ATALAYA_SINK, "keep"))).ok());
  RunningEngine running(*engine);
  REQUIRE(script().wait([] { return script().writes >= 1; }));
  CHECK_FALSE(running.stop());
  check_balance(engine->ledger().snapshot());
  {
    const std::lock_guard lock(script().mutex);
    script().hold_writes = false;
  }
  script().notify();
}
