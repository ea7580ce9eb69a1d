// SPDX-License-Identifier: Apache-2.0
// A component in another process behaves as one in this process does, until it fails.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "core/isolation/isolation.h"
#include "tests/unit/temporary_folder.h"

using namespace atalaya::core;

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr auto kPatience = std::chrono::seconds(30);

class Listener : public Surroundings {
 public:
  void log(LogLevel, std::string_view text) override {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(text);
    changed_.notify_all();
  }
  BatchOwner new_batch() override { return std::make_unique<Batch>(); }
  int32_t emit(BatchOwner batch, uint64_t &id) override {
    const std::lock_guard lock(mutex_);
    emitted_.push_back(std::move(batch));
    id = emitted_.size();
    changed_.notify_all();
    return ATALAYA_OK;
  }
  void on_restart() override { ++restarts; }

  // The line that has the text, when it comes; "" if it does not.
  std::string wait_for(const std::string &text) {
    std::unique_lock lock(mutex_);
    std::string found;
    changed_.wait_for(lock, kPatience, [&] {
      for (const std::string &line : lines_)
        if (line.find(text) != std::string::npos) found = line;
      return !found.empty();
    });
    return found;
  }
  size_t wait_for_emitted(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return emitted_.size() >= count; });
    return emitted_.size();
  }
  const Batch &emitted(size_t index) {
    const std::lock_guard lock(mutex_);
    return *emitted_[index];
  }

  std::atomic<int> restarts{0};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  std::vector<BatchOwner> emitted_;
};

struct Fixture {
  atalaya::testing::TemporaryFolder folder;
  Registry registry = Registry::scan({TEST_PLUGINS});
  Symbols symbols;
  Listener listener;
  Launcher launcher;
  int64_t limit_ns = 30 * kSecond;  // of a call

  std::string trouble() const { return folder / "trouble"; }
  void fail(const char *how) const {
    std::ofstream(trouble() + ".new") << how;
    std::filesystem::rename(trouble() + ".new", trouble());
  }

  Result<std::unique_ptr<Instance>> try_make(uint32_t kind, const std::string &name,
                                             std::vector<std::pair<std::string, std::string>> texts = {}) {
    auto component = registry.open(kind, name);
    REQUIRE(component.ok());
    texts.emplace_back("trouble", trouble());
    Value written;
    written.type = Value::Type::table;
    for (const auto &[key, text] : texts) {
      Value value;
      value.type = Value::Type::string;
      value.string = text;
      written.map.emplace_back(key, value);
    }
    std::vector<Problem> ignored;
    Parameters parameters = Parameters::resolve(schema_of(*component->component), written, ignored);
    const Isolation isolation{.on = true, .memory_bytes = 64 << 20, .time_ns = limit_ns};
    return make_instance(isolation, *component, std::move(parameters), "the " + name, symbols, listener, &launcher);
  }
  std::unique_ptr<Instance> make(uint32_t kind, const std::string &name,
                                 std::vector<std::pair<std::string, std::string>> texts = {}) {
    auto made = try_make(kind, name, std::move(texts));
    REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.error()));
    return std::move(*made);
  }
};

atalaya_window window() {
  return {sizeof(atalaya_window), 0, kSecond, kSecond, kSecond, kSecond};
}

// Calls until the component is back from where it was.
template <class Body>
Outcome until_restarted(Body &&body) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  Outcome outcome = body();
  while (outcome.unavailable && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    outcome = body();
  }
  return outcome;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a pull source appends to the batch") {
  auto instance = make(ATALAYA_SOURCE, "faulty");
  REQUIRE(instance->start().ok());
  Batch batch;
  for (int64_t number = 1; number <= 100; ++number) {
    REQUIRE(instance->collect(window(), batch).ok());
    REQUIRE(batch.count() == static_cast<uint64_t>(number));
    const atalaya_sample &sample = batch.raw().samples[number - 1];
    REQUIRE(sample.field_count == 1);
    REQUIRE(symbols.name(sample.fields[0].name) == "test.number");
    REQUIRE(sample.fields[0].value.i64 == number);
  }
  CHECK(instance->stop().ok());
  CHECK(instance->stop().ok());
  CHECK(listener.restarts == 0);
}

TEST_CASE_FIXTURE(Fixture, "a translator edits the batch, names and all") {
  symbols.intern("something else first");
  auto instance = make(ATALAYA_TRANSLATOR, "faulty");
  REQUIRE(instance->start().ok());
  for (const uint64_t count : {0, 1, 5000}) {
    Batch batch;
    for (uint64_t i = 0; i < count; ++i) batch.add_tag(batch.add_sample(ATALAYA_METRICS), symbols.intern("pid"), std::to_string(i));
    REQUIRE(instance->process(window(), batch).ok());
    REQUIRE(batch.count() == count);
    for (uint64_t i = 0; i < count; ++i) {
      const atalaya_sample &sample = batch.raw().samples[i];
      REQUIRE(sample.tag_count == 2);
      REQUIRE(view_of(sample.tags[0].value) == std::to_string(i));
      REQUIRE(symbols.name(sample.tags[1].key) == "seen");
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "declarations of metrics cross both ways") {
  const uint32_t id = symbols.intern("test.number");
  auto source = make(ATALAYA_SOURCE, "faulty");
  const atalaya_metric_info *declared = symbols.metric(id);
  REQUIRE(declared != nullptr);
  CHECK(declared->kind == ATALAYA_TOTAL);
  CHECK(declared->decimals == -1);
  CHECK(view_of(declared->unit) == "{number}");
  CHECK(view_of(declared->summary) == "Numbers so far.");
  CHECK(view_of(declared->source) == "the plugin");

  auto stage = make(ATALAYA_TRANSLATOR, "faulty");
  REQUIRE(stage->start().ok());
  const uint32_t late = symbols.intern("declared.late");
  const auto unit_seen = [&](uint32_t name) {
    Batch batch;
    batch.add_field(batch.add_sample(ATALAYA_METRICS), {name, ATALAYA_I64, {}});
    REQUIRE(stage->process(window(), batch).ok());
    return std::string(view_of(batch.raw().samples[0].tags[0].value));
  };
  CHECK(unit_seen(id) == "{number}");
  CHECK(unit_seen(late) == "none");
  symbols.declare("declared.late", {sizeof(atalaya_metric_info), ATALAYA_GAUGE, 0, 0, {"By", 2}, {}, {}}, "a test");
  CHECK(unit_seen(late) == "By");
  CHECK(unit_seen(id) == "{number}");
}

TEST_CASE_FIXTURE(Fixture, "a sink reads names that are new to it") {
  const std::string got = folder / "got";
  auto instance = make(ATALAYA_SINK, "faulty", {{"got", got}});
  REQUIRE(instance->start().ok());
  Batch batch;
  atalaya_field field{symbols.intern("test.number"), ATALAYA_I64, {}};
  field.value.i64 = 41;
  batch.add_field(batch.add_sample(ATALAYA_METRICS), field);
  int64_t retry_after = 7;
  CHECK(instance->write(batch.raw(), retry_after).ok());
  CHECK(retry_after == 0);
  CHECK(instance->flush(0).ok());
  std::ifstream file(got);
  int64_t number = 0;
  file >> number;
  CHECK(number == 41);
}

TEST_CASE_FIXTURE(Fixture, "a push source emits until it is interrupted, and continues in the next process") {
  auto instance = make(ATALAYA_SOURCE, "faulty_push");
  REQUIRE(instance->start().ok());
  Outcome outcome;
  std::thread runner([&] { outcome = instance->run(); });
  CHECK(listener.wait_for_emitted(3) >= 3);
  fail("abort");
  CHECK(listener.wait_for("crashed (SIGABRT)") != "");
  const size_t before = listener.wait_for_emitted(1);
  CHECK(listener.wait_for_emitted(before + 3) >= before + 3);
  instance->interrupt();
  runner.join();
  CHECK(outcome.ok());
  CHECK(listener.emitted(0).raw().samples[0].fields[0].value.i64 == 1);
}

TEST_CASE_FIXTURE(Fixture, "an instance that fails is unreachable with a reason, and is restarted") {
  auto instance = make(ATALAYA_SOURCE, "faulty");
  REQUIRE(instance->start().ok());
  struct Case {
    const char *how, *said;
  };
  const Case cases[] = {{"abort", "crashed (SIGABRT)"}, {"exit", "ended itself with status 3"}, {"garbage samples", "not sound"}};
  int restarts = 0;
  for (const Case &one : cases) {
    CAPTURE(one.how);
    Batch batch;
    fail(one.how);
    const Outcome outcome = instance->collect(window(), batch);
    CHECK(outcome.unavailable);
    CHECK(!outcome.ok());
    CHECK(batch.count() == 0);
    const std::string line = listener.wait_for(one.said);
    CHECK(line.rfind("the faulty: its process ", 0) == 0);
    CHECK(until_restarted([&] { return instance->collect(window(), batch); }).ok());
    CHECK(batch.count() == 1);
    CHECK(listener.restarts == ++restarts);
  }
}

TEST_CASE_FIXTURE(Fixture, "an instance that hangs is unreachable with a reason, and is restarted") {
  limit_ns = kSecond;
  auto instance = make(ATALAYA_SOURCE, "faulty");
  REQUIRE(instance->start().ok());
  Batch batch;
  fail("hang");
  CHECK(instance->collect(window(), batch).unavailable);
  CHECK(batch.count() == 0);
  CHECK(listener.wait_for("isolation.time").rfind("the faulty: its process ", 0) == 0);
  CHECK(until_restarted([&] { return instance->collect(window(), batch); }).ok());
  CHECK(listener.restarts >= 1);  // a busy machine may be late once more
}

TEST_CASE_FIXTURE(Fixture, "a batch that does not fit is refused, and the component lives on") {
  auto instance = make(ATALAYA_TRANSLATOR, "faulty");
  REQUIRE(instance->start().ok());
  Batch big;
  const std::string text(70 << 20, 'x');
  big.add_sample(ATALAYA_STACK).text = big.copy(text);
  const Outcome outcome = instance->process(window(), big);
  CHECK(outcome.code == ATALAYA_PERMANENT);
  CHECK(outcome.text.find("isolation.memory") != std::string::npos);
  Batch small;
  small.add_sample(ATALAYA_METRICS);
  CHECK(instance->process(window(), small).ok());
}

TEST_CASE_FIXTURE(Fixture, "results of create and start come back as from this process") {
  auto witness = make(ATALAYA_SINK, "witness", {{"got", "/nonexistent/folder/got"}});
  const Outcome outcome = witness->start();
  CHECK(outcome.code == ATALAYA_BAD_CONFIG);
  CHECK(outcome.text.find("/nonexistent/folder/got") != std::string::npos);
  const auto refused = make_instance({.on = true, .memory_bytes = 64 << 20, .time_ns = kSecond},
                                     *registry.open(ATALAYA_SINK, "witness"), {}, "the witness", symbols, listener, &launcher);
  REQUIRE(!refused.ok());
  CHECK(refused.error().rfind("the witness: ", 0) == 0);
}

TEST_CASE_FIXTURE(Fixture, "isolation needs a launcher") {
  auto component = registry.open(ATALAYA_SOURCE, "faulty");
  REQUIRE(component.ok());
  const auto made = make_instance({.on = true, .memory_bytes = 64 << 20, .time_ns = kSecond}, *component, {}, "the faulty", symbols,
                                  listener, nullptr);
  CHECK(!made.ok());
}
