// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/core/pipeline/test_components.h"

#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <utility>

namespace atalaya::core::test {
namespace {

using namespace atalaya::literals;

constexpr Param number_param(atalaya_str name, atalaya_str value) {
  return {.name = name, .type = ATALAYA_INT, .flags = 0, .default_text = value, .summary = "for tests"_str};
}

void add_number(atalaya::Batch &batch, uint32_t name, int64_t value) {
  batch.field(batch.add(ATALAYA_METRICS, 1, 1), name, value);
}

// Gives consecutive numbers.
class Numbers : public Source {
 public:
  static constexpr Param params[] = {number_param("group"_str, "1"_str)};
  static constexpr Description description = {.name = "numbers"_str, .summary = "consecutive numbers"_str, .params = params};
  explicit Numbers(Host host) : host_(host), value_(host.intern("test.value")) {}
  void start() override { ++script().starts; }
  void stop() override { ++script().stops; }
  Code collect(const Window &, atalaya::Batch &batch) override {
    ++script().collects;
    script().notify();
    const int code = script().collect_code;
    if (code != ATALAYA_OK) throw Failure(static_cast<Code>(code), "set to fail");
    for (int64_t i = 0; i < script().per_window; ++i) add_number(batch, value_, script().given++);
    return Code::ok;
  }

 private:
  Host host_;
  uint32_t value_;
};

class BlockingNumbers final : public Numbers {
 public:
  static constexpr Description description = {
      .name = "blocking"_str, .summary = "numbers, on a thread of their own"_str, .params = params, .flags = ATALAYA_BLOCKING};
  using Numbers::Numbers;
};

// Holds its numbers until its end.
class LateNumbers final : public Numbers {
 public:
  static constexpr Description description = {
      .name = "late"_str, .summary = "numbers, all at the end"_str, .params = params, .flags = ATALAYA_HOLDS};
  explicit LateNumbers(Host host) : Numbers(host), value_(host.intern("test.value")) {}
  Code collect(const Window &window, atalaya::Batch &batch) override {
    if ((window.flags & ATALAYA_WINDOW_LAST) == 0) {
      ++script().collects;
      script().notify();
      held_.push_back(script().given++);
      return Code::ok;
    }
    for (const int64_t number : std::exchange(held_, {})) add_number(batch, value_, number);
    return Code::ok;
  }

 private:
  uint32_t value_;
  std::vector<int64_t> held_;
};

class Pushed final : public PushSource {
 public:
  static constexpr Description description = {.name = "pushed"_str, .summary = "pushes as many batches as the script says"_str};
  explicit Pushed(Host host) : host_(host), value_(host.intern("test.value")) {}
  Code run() override {
    while (!interrupted_) {
      if (script().push_batches.fetch_sub(1) <= 0) {
        script().push_batches = 0;
        return Code::end;
      }
      atalaya_batch *raw = nullptr;
      if (host_.raw()->new_batch(host_.raw()->self, &raw) != ATALAYA_OK) return Code::retry;
      {
        atalaya::Batch batch(host_, raw);
        for (int i = 0; i < 10; ++i) add_number(batch, value_, script().given++);
      }
      uint64_t id = 0;
      if (host_.raw()->emit(host_.raw()->self, raw, &id) != ATALAYA_OK) return Code::ok;
    }
    return Code::ok;
  }
  void interrupt() noexcept override { interrupted_ = true; }
  void acked(uint64_t id, Code status) noexcept override {
    const std::lock_guard lock(script().mutex);
    script().acked.emplace_back(id, static_cast<int>(status));
    script().notify();
  }

 private:
  Host host_;
  uint32_t value_;
  std::atomic<bool> interrupted_{false};
};

// Keeps the even numbers.
class Even final : public Filter {
 public:
  static constexpr Description description = {.name = "even"_str, .summary = "keeps the even ones"_str};
  explicit Even(Host) {}
  Code process(const Window &, atalaya::Batch &batch) override {
    uint64_t kept = 0;
    for (const Sample &sample : batch.samples())
      if (sample.fields[0].value.i64 % 2 == 0) batch.samples()[kept++] = sample;
    batch.truncate(kept);
    return Code::ok;
  }
};

// Holds all samples until its end.
class Hold final : public Filter {
 public:
  static constexpr Description description = {.name = "hold"_str, .summary = "all at the end"_str, .flags = ATALAYA_HOLDS};
  explicit Hold(Host host) : host_(host), value_(host.intern("test.value")) {}
  Code process(const Window &window, atalaya::Batch &batch) override {
    for (const Sample &sample : batch.samples()) held_.push_back(sample.fields[0].value.i64);
    host_.merged(batch.samples().size());
    batch.truncate(0);
    if ((window.flags & ATALAYA_WINDOW_LAST) == 0) return Code::ok;
    host_.created(held_.size());
    for (const int64_t number : std::exchange(held_, {})) add_number(batch, value_, number);
    return Code::ok;
  }

 private:
  Host host_;
  uint32_t value_;
  std::vector<int64_t> held_;
};

// One sample, the sum of all.
class Total final : public Translator {
 public:
  static constexpr Description description = {.name = "total"_str, .summary = "their sum"_str};
  explicit Total(Host host) : host_(host), value_(host.intern("test.value")) {}
  Code process(const Window &, atalaya::Batch &batch) override {
    if (batch.samples().empty()) return Code::ok;
    int64_t sum = 0;
    for (const Sample &sample : batch.samples()) sum += sample.fields[0].value.i64;
    host_.merged(batch.samples().size());
    host_.created(1);
    batch.truncate(0);
    add_number(batch, value_, sum);
    return Code::ok;
  }

 private:
  Host host_;
  uint32_t value_;
};

class Keep final : public Sink {
 public:
  static constexpr Param params[] = {number_param("number"_str, "0"_str), number_param("refuse"_str, "0"_str)};
  static constexpr Description description = {.name = "keep"_str, .summary = "Keep all batches"_str, .params = params};
  explicit Keep(Host host)
      : host_(host), number_(static_cast<size_t>(host.integer("number"))), refuse_(static_cast<size_t>(host.integer("refuse"))) {}
  void start() override {
    if (number_ == 3) throw Failure(Code::bad_config, "number 3 does not start");
    if (script().refuses_start == static_cast<int>(number_)) throw Failure(Code::retry, "set to refuse start");
  }
  Code write(std::span<const Sample> samples, int64_t &retry_after_ns) override {
    std::unique_lock lock(script().mutex);
    if (script().writes++ == 0 && !samples.empty()) script().first_written = samples[0].fields[0].value.i64;
    script().notify();
    script().changed.wait(lock, [] { return !script().hold_writes; });
    retry_after_ns = 1'000'000;
    const int code = script().failing == static_cast<int>(number_) ? ATALAYA_RETRY : script().write_code.load();
    if (code != ATALAYA_OK) throw Failure(static_cast<Code>(code), "set to fail");
    const size_t refused = std::min(refuse_, samples.size());
    host_.dropped("refused by the test", refused);
    for (const Sample &sample : samples.subspan(refused)) script().kept[number_].push_back(sample.fields[0].value.i64);
    script().notify();
    return Code::ok;
  }
  Code flush(int64_t) override { return Code::ok; }

 private:
  Host host_;
  size_t number_, refuse_;
};

const atalaya_plugin kPlugin =
    atalaya::detail::make_plugin<Numbers, BlockingNumbers, LateNumbers, Pushed, Even, Hold, Total, Keep>("test"_str, "1.0.0"_str);

}  // namespace

Script &script() {
  static auto *script = new Script;  // outlives the thread that one test leaves hanging
  return *script;
}

void Script::reset() {
  const std::lock_guard lock(mutex);
  per_window = 10;
  given = 0;
  collect_code = write_code = ATALAYA_OK;
  collects = writes = starts = stops = 0;
  refuses_start = failing = -1;
  first_written = -1;
  hold_writes = false;
  kept.assign(4, {});
  acked.clear();
  push_batches = 0;
}

bool Script::wait(const std::function<bool()> &condition) {
  std::unique_lock lock(mutex);
  // Most changes are announced; atomics that are not are looked at every few milliseconds.
  for (int tries = 0; tries < 12000; ++tries)
    if (changed.wait_for(lock, std::chrono::milliseconds(5), condition)) return true;
  return false;
}

Builder::Builder() {
  auto plugin = Plugin::from_descriptor(&kPlugin, "test");
  REQUIRE_MESSAGE(plugin.ok(), (plugin.ok() ? "" : plugin.error()));
  registry.add(*plugin);
}

StageDescription Builder::make(uint32_t kind, const std::string &name,
                               const std::vector<std::pair<std::string, int64_t>> &numbers) {
  StageDescription stage;
  stage.kind = kind;
  stage.name = name;
  stage.where = {"test.lua", 7};
  stage.queue.max_bytes = int64_t{1} << 20;
  auto opened = registry.open(kind, name);
  REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error()));
  stage.component = *opened;
  Value table;
  table.type = Value::Type::table;
  for (const auto &[key, number] : numbers) {
    Value value;
    value.type = Value::Type::integer;
    value.integer = number;
    table.map.emplace_back(key, value);
  }
  std::vector<Problem> problems;
  stage.parameters = Parameters::resolve(schema_of(*stage.component.component), table, problems);
  REQUIRE(problems.empty());
  return stage;
}

PipelineDescription Builder::pipeline(const std::string &name, std::vector<StageDescription> sources,
                                      std::vector<StageDescription> stages, std::vector<size_t> sinks, int64_t every_ns) {
  PipelineDescription made;
  made.name = name;
  made.where = {"test.lua", 5};
  made.every_ns = every_ns;
  made.sources = std::move(sources);
  made.stages = std::move(stages);
  made.sinks = std::move(sinks);
  return made;
}

RunningEngine::RunningEngine(Engine &engine) : engine_(engine), thread_([this] { clean_ = engine_.run(); }) {}

bool RunningEngine::stop() {
  if (thread_.joinable()) {
    engine_.stop();
    thread_.join();
  }
  return clean_;
}

void check_balance(const std::vector<LedgerRow> &rows) {
  // Per pipeline: samples that its sources gave, that each stage in turn has, that each sink accepted.
  std::map<std::string, int64_t> flowing;
  for (const LedgerRow &row : rows) {
    INFO(row.pipeline, ": ", row.component);
    CHECK(row.imbalance() == 0);
    if (row.type == RowType::source) {
      flowing[row.pipeline] += row.counts.out;
    } else {
      CHECK(row.counts.in == flowing[row.pipeline]);
      if (row.type == RowType::stage) flowing[row.pipeline] = row.counts.out;
    }
  }
}

const LedgerRow *find_row(const std::vector<LedgerRow> &rows, const std::string &pipeline, const std::string &component) {
  for (const LedgerRow &row : rows)
    if (row.pipeline == pipeline && row.component == component) return &row;
  return nullptr;
}

}  // namespace atalaya::core::test
