// SPDX-License-Identifier: Apache-2.0
// The boundary between host and plugin: values that cross it, and values that must not.
#include <doctest/doctest.h>
#include <atalaya/plugin.hpp>

#include <cstring>
#include <functional>

#include "core/plugin/instance.h"

using namespace atalaya::core;
using namespace atalaya::literals;

namespace {

// Behaviour of the operations of the plugin below; the test sets it.
struct Script {
  const atalaya_host *host = nullptr;
  std::function<int32_t(atalaya_batch *, atalaya_error *)> collect;
  int starts = 0, stops = 0, destroys = 0;
};
Script *script = nullptr;

int32_t create(const atalaya_host *host, const atalaya_component *, void **, atalaya_error *) {
  script->host = host;
  return ATALAYA_OK;
}
int32_t start(void *, atalaya_error *) {
  ++script->starts;
  return ATALAYA_RETRY;
}
int32_t stop(void *, atalaya_error *) {
  ++script->stops;
  return ATALAYA_OK;
}
void destroy(void *) {
  ++script->destroys;
}
int32_t collect(void *, const atalaya_window *, atalaya_batch *batch, atalaya_error *error) {
  return script->collect(batch, error);
}

constexpr atalaya_param kItem = {.name = "item"_str, .type = ATALAYA_STRING, .summary = "An item."_str};
constexpr atalaya_param kParams[] = {
    {.name = "wait"_str, .type = ATALAYA_DURATION, .default_text = "5s"_str, .summary = "A wait."_str},
    {.name = "share"_str, .type = ATALAYA_NUMBER, .default_text = "0.5"_str, .summary = "A share."_str},
    {.name = "words"_str,
     .type = ATALAYA_LIST,
     .summary = "Words."_str,
     .items = &kItem,
     .item_count = 1,
     .item_size = sizeof(kItem)}};
constexpr atalaya_ops kOps = {
    .struct_size = sizeof(atalaya_ops), .create = create, .start = start, .stop = stop, .destroy = destroy, .collect = collect};
constexpr atalaya_component kComponent = {.struct_size = sizeof(atalaya_component),
                                          .kind = ATALAYA_SOURCE,
                                          .name = "demo"_str,
                                          .summary = "A demo."_str,
                                          .params = kParams,
                                          .param_count = 3,
                                          .param_size = sizeof(atalaya_param),
                                          .ops = &kOps};

class Listener : public Surroundings {
 public:
  void log(LogLevel, std::string_view text) override { lines.emplace_back(text); }
  void count(int32_t kind, std::string_view reason, uint64_t n) override {
    counted = std::to_string(kind) + " " + std::string(reason) + " " + std::to_string(n);
  }
  BatchOwner new_batch() override { return std::make_unique<Batch>(); }
  int32_t emit(BatchOwner batch, uint64_t &id) override {
    id = 7;
    emitted.push_back(std::move(batch));
    return ATALAYA_OK;
  }
  bool ledger(uint64_t row, atalaya_ledger_row &out) override {
    out.in = 41;
    out.busy_ns = 99;
    return row == 0;
  }

  std::vector<std::string> lines;
  std::string counted;
  std::vector<BatchOwner> emitted;
};

// An instance of the component above and everything around it.
struct Fixture {
  Script steps;
  Symbols symbols;
  Listener listener;
  std::unique_ptr<Instance> instance;

  Fixture() {
    script = &steps;
    Value written;
    written.type = Value::Type::table;
    Value words;
    words.type = Value::Type::table;
    for (const char *text : {"a", "b"}) {
      Value word;
      word.type = Value::Type::string;
      word.string = text;
      words.list.push_back(word);
    }
    written.map = {{"words", words}};
    std::vector<Problem> problems;
    Parameters parameters = Parameters::resolve(schema_of(kComponent), written, problems);
    REQUIRE(problems.empty());
    auto made = Instance::create({nullptr, &kComponent}, std::move(parameters), "source \"demo\"", symbols, listener);
    REQUIRE(made.ok());
    instance = std::move(*made);
  }
  Outcome collect(std::function<int32_t(atalaya_batch *, atalaya_error *)> body, Batch &batch) {
    steps.collect = std::move(body);
    return instance->collect({}, batch);
  }
  Outcome collect(std::function<int32_t(atalaya_batch *, atalaya_error *)> body) {
    Batch batch;
    return collect(std::move(body), batch);
  }
  const atalaya_host &host() { return *steps.host; }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "codes pass, unknown ones become permanent") {
  CHECK(collect([](auto *, auto *) { return ATALAYA_NOTHING; }).code == ATALAYA_NOTHING);
  const Outcome silent = collect([](auto *, auto *) { return ATALAYA_UNSUPPORTED; });
  CHECK(silent.code == ATALAYA_UNSUPPORTED);
  CHECK(silent.text == "collect failed and gave no reason (code 6)");
  const Outcome unknown = collect([](auto *, atalaya_error *error) {
    std::strcpy(error->text, "odd");
    return 42;
  });
  CHECK(unknown.code == ATALAYA_PERMANENT);
  CHECK(unknown.text == "collect answered with the unknown code 42: odd; report it to the plugin's author");
}

TEST_CASE_FIXTURE(Fixture, "an error text without an end is cut") {
  const Outcome outcome = collect([](auto *, atalaya_error *error) {
    std::memset(error->text, 'x', sizeof(error->text));
    return ATALAYA_RETRY;
  });
  CHECK(outcome.code == ATALAYA_RETRY);
  CHECK(outcome.text == std::string(sizeof(atalaya_error::text), 'x'));
}

TEST_CASE_FIXTURE(Fixture, "exceptions do not pass the boundary") {
  const Outcome named = collect([](auto *, auto *) -> int32_t { throw std::runtime_error("boom"); });
  CHECK(named.code == ATALAYA_PERMANENT);
  CHECK(named.text == "collect let a C++ exception out: boom; report it to the plugin's author");
  const Outcome unnamed = collect([](auto *, auto *) -> int32_t { throw 1; });
  CHECK(unnamed.text == "collect let an unknown exception out; report it to the plugin's author");
}

TEST_CASE_FIXTURE(Fixture, "a plugin writes only to the batch that it was handed") {
  Batch mine, foreign;
  const Outcome outcome = collect(
      [&](atalaya_batch *batch, auto *) {
        atalaya_sample *sample = nullptr;
        CHECK(host().add_sample(host().self, &foreign.raw(), ATALAYA_METRICS, &sample) == ATALAYA_PERMANENT);
        CHECK(host().allocate(host().self, &foreign.raw(), 8, 8) == nullptr);
        batch->arena = &foreign;  // the owner in the batch is not trusted
        REQUIRE(host().add_sample(host().self, batch, ATALAYA_METRICS, &sample) == ATALAYA_OK);
        CHECK(host().add_tag(host().self, batch, sample, host().intern(host().self, "pid"_str), "1"_str) == ATALAYA_OK);
        return ATALAYA_OK;
      },
      mine);
  CHECK(outcome.ok());
  CHECK(mine.count() == 1);
  CHECK(foreign.count() == 0);
  CHECK(foreign.used_bytes() == 0);
  CHECK(host().reserve_samples(host().self, &mine.raw(), 1) == ATALAYA_PERMANENT);  // the call is over
}

TEST_CASE_FIXTURE(Fixture, "sizes that cannot be meant get no memory") {
  collect([&](atalaya_batch *batch, auto *) {
    CHECK(host().allocate(host().self, batch, UINT64_MAX, 8) == nullptr);
    CHECK(host().allocate(host().self, batch, 8, 3) == nullptr);
    CHECK(host().allocate(host().self, batch, 8, 0) == nullptr);
    CHECK(host().allocate(host().self, batch, 8, 64) != nullptr);
    CHECK(host().reserve_samples(host().self, batch, UINT64_MAX) == ATALAYA_RETRY);
    atalaya_sample *sample = nullptr;
    REQUIRE(host().add_sample(host().self, batch, ATALAYA_METRICS, &sample) == ATALAYA_OK);
    CHECK(host().reserve(host().self, batch, sample, 70000, 0) == ATALAYA_PERMANENT);
    return ATALAYA_OK;
  });
}

TEST_CASE_FIXTURE(Fixture, "parameters by path and one by one") {
  atalaya_value value{};
  value.struct_size = sizeof(value);
  REQUIRE(host().param(host().self, "wait"_str, &value) == ATALAYA_OK);
  CHECK(value.type == ATALAYA_DURATION);
  CHECK(value.value.i64 == 5000000000);
  REQUIRE(host().param(host().self, "share"_str, &value) == ATALAYA_OK);
  CHECK(value.value.f64 == 0.5);
  CHECK(host().param(host().self, "absent"_str, &value) == ATALAYA_NOTHING);
  REQUIRE(host().param_child(host().self, "words"_str, 1, &value) == ATALAYA_OK);
  CHECK(view_of(value.text) == "b");
  CHECK(host().param_child(host().self, "words"_str, 2, &value) == ATALAYA_NOTHING);
}

TEST_CASE_FIXTURE(Fixture, "an older plugin's shorter struct is not written past its end") {
  atalaya_value value{};
  value.struct_size = offsetof(atalaya_value, text);
  value.count = 1234;
  REQUIRE(host().param(host().self, "words"_str, &value) == ATALAYA_OK);
  CHECK(value.struct_size == offsetof(atalaya_value, text));
  CHECK(value.count == 1234);
  atalaya_ledger_row row{};
  row.struct_size = offsetof(atalaya_ledger_row, busy_ns);
  REQUIRE(host().ledger(host().self, 0, &row) == ATALAYA_OK);
  CHECK(row.in == 41);
  CHECK(row.busy_ns == 0);
  CHECK(host().ledger(host().self, 1, &row) == ATALAYA_NOTHING);
}

TEST_CASE_FIXTURE(Fixture, "names, counts and lines reach the surroundings") {
  const uint32_t id = host().intern(host().self, "demo.name"_str);
  atalaya_str name{};
  REQUIRE(host().name_of(host().self, id, &name) == ATALAYA_OK);
  CHECK(view_of(name) == "demo.name");
  CHECK(host().name_of(host().self, id + 1, &name) == ATALAYA_NOTHING);
  host().count(host().self, ATALAYA_COUNT_DROPPED, "too old"_str, 3);
  CHECK(listener.counted == "1 too old 3");
  host().log(host().self, 99, "hello"_str);
  CHECK(listener.lines == std::vector<std::string>{"source \"demo\": hello"});
  CHECK(host().state_dir(host().self, &name) == ATALAYA_NOTHING);
}

TEST_CASE_FIXTURE(Fixture, "metrics are declared at run time and found by their id") {
  const atalaya::Host wrapped(&host());
  const uint32_t id = host().intern(host().self, "demo.bytes"_str);
  CHECK_FALSE(wrapped.metric(id));
  atalaya_metric metric{.name = "demo.bytes"_str,
                        .unit = "By"_str,
                        .kind = ATALAYA_DELTA,
                        .decimals = -1,
                        .source = "somewhere"_str,
                        .summary = "Bytes."_str};
  CHECK(wrapped.declare(metric));
  CHECK(wrapped.declare(metric));
  const auto found = wrapped.metric(id);
  REQUIRE(found);
  CHECK(found->kind == ATALAYA_DELTA);
  CHECK(found->decimals == -1);
  CHECK(found->unit == "By");
  CHECK(found->summary == "Bytes.");
  CHECK(found->source == "somewhere");
  metric.kind = ATALAYA_TOTAL;
  CHECK(host().declare_metric(host().self, &metric, sizeof(metric)) == ATALAYA_PERMANENT);
  metric.unit = "bytes"_str;
  CHECK(host().declare_metric(host().self, &metric, sizeof(metric)) == ATALAYA_BAD_CONFIG);
  CHECK(wrapped.metric(id)->kind == ATALAYA_DELTA);

  atalaya_metric_info old{};  // of a plugin whose struct ends behind the unit
  old.struct_size = offsetof(atalaya_metric_info, summary);
  REQUIRE(host().metric_of(host().self, id, &old) == ATALAYA_OK);
  CHECK(view_of(old.unit) == "By");
  CHECK(old.summary.size == 0);
  CHECK(old.struct_size == offsetof(atalaya_metric_info, summary));
  CHECK(host().metric_of(host().self, 0, &old) == ATALAYA_NOTHING);
}

TEST_CASE_FIXTURE(Fixture, "a batch is emitted once, and only one that was given") {
  Batch foreign;
  atalaya_batch *batch = nullptr;
  uint64_t id = 0;
  REQUIRE(host().new_batch(host().self, &batch) == ATALAYA_OK);
  CHECK(host().emit(host().self, &foreign.raw(), &id) == ATALAYA_PERMANENT);
  CHECK(host().emit(host().self, batch, &id) == ATALAYA_OK);
  CHECK(id == 7);
  CHECK(&listener.emitted.at(0)->raw() == batch);
  CHECK(host().emit(host().self, batch, &id) == ATALAYA_PERMANENT);
  int given = 0;
  while (given < 1000 && host().new_batch(host().self, &batch) == ATALAYA_OK) ++given;
  CHECK(given < 1000);  // a source that only takes is stopped
}

TEST_CASE("an instance is stopped before it is destroyed, also after a start that failed") {
  Script seen;
  {
    Fixture fixture;
    CHECK(fixture.instance->start().code == ATALAYA_RETRY);
    fixture.instance.reset();
    seen = fixture.steps;
  }
  CHECK(seen.stops == 1);
  CHECK(seen.destroys == 1);
  {
    Fixture fixture;
    CHECK(fixture.instance->stop().ok());
    CHECK(fixture.instance->stop().ok());
    fixture.instance.reset();
    CHECK(fixture.steps.stops == 2);
  }
}
