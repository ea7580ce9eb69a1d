// SPDX-License-Identifier: Apache-2.0
// The plugins of every release, as they were compiled then, load and work: each kind of component, each function of the host.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <future>

#include "core/plugin/instance.h"
#include "core/plugin/verify/verify.h"
#include "tests/unit/temporary_folder.h"

using namespace atalaya::core;
using atalaya::testing::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

// The binaries of the releases (of this machine's kind), and the same sources compiled today.
std::vector<std::string> released_plugins() {
  std::vector<std::string> paths;
  for (const auto &release : fs::directory_iterator(ABI_RELEASED)) {
    if (!release.is_directory()) continue;
#ifdef __x86_64__
    paths.push_back(release.path() / "plugin-x86_64.so");
#endif
    paths.push_back(std::string(ABI_PLUGINS) + "/released-" + release.path().filename().string() + ".so");
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class Host final : public Surroundings {
 public:
  void log(LogLevel, std::string_view text) override { logged.emplace_back(text); }
  void count(int32_t kind, std::string_view reason, uint64_t samples) override {
    counted = std::to_string(kind) + " " + std::string(reason) + " " + std::to_string(samples);
  }
  BatchOwner new_batch() override { return std::make_unique<Batch>(); }
  int32_t emit(BatchOwner batch, uint64_t &id) override {
    id = ++ids;
    emitted = std::move(batch);
    if (subscriber != nullptr) subscriber->acked(id, ATALAYA_OK);
    return ATALAYA_OK;
  }
  std::optional<std::string> state_dir() override { return "/state"; }
  bool ledger(uint64_t row, atalaya_ledger_row &) override { return row < 3; }

  std::vector<std::string> logged;
  std::string counted;
  uint64_t ids = 0;
  BatchOwner emitted;
  Instance *subscriber = nullptr;
};

// One released plugin, and instances of its components.
struct Subject {
  explicit Subject(const std::string &built) {
    const std::string path = folder / "plugin.so";
    fs::copy_file(built, path);
    ::chmod(path.c_str(), 0644);  // whatever the checkout made of it
    auto opened = Plugin::open(path);
    REQUIRE_MESSAGE(opened.ok(), (opened ? "" : opened.error()));
    plugin = *opened;
  }

  Result<std::unique_ptr<Instance>> make(uint32_t kind, const std::string &name, int64_t number) {
    for (const atalaya_component *component : plugin->components()) {
      if (component->kind != kind || view_of(component->name) != name) continue;
      Value written;
      written.type = Value::Type::table;
      Value value;
      value.type = Value::Type::integer;
      value.integer = number;
      written.map.emplace_back("number", value);
      std::vector<Problem> problems;
      auto parameters = Parameters::resolve(schema_of(*component), written, problems);
      REQUIRE(problems.empty());
      return Instance::create({plugin, component}, std::move(parameters), name, symbols, host);
    }
    FAIL("no such component");
    return Error{};
  }

  std::unique_ptr<Instance> started(uint32_t kind, const std::string &name = "released") {
    auto made = make(kind, name, 7);
    REQUIRE_MESSAGE(made.ok(), (made ? "" : made.error()));
    CHECK((*made)->start().code == ATALAYA_OK);
    return std::move(*made);
  }

  std::string tag_of(const atalaya_sample &sample) {
    REQUIRE(sample.tag_count == 1);
    return std::string(symbols.name(sample.tags[0].key)) + "=" + std::string(view_of(sample.tags[0].value));
  }
  int64_t number_of(const atalaya_sample &sample) {
    REQUIRE(sample.field_count == 1);
    CHECK(symbols.name(sample.fields[0].name) == "released.number");
    return sample.fields[0].value.i64;
  }
  void fill(Batch &batch, int64_t samples) {
    for (int64_t i = 0; i < samples; ++i)
      batch.add_field(batch.add_sample(ATALAYA_METRICS), {symbols.intern("some.number"), ATALAYA_I64, {.i64 = i}});
  }

  TemporaryFolder folder;
  std::shared_ptr<const Plugin> plugin;
  Symbols symbols;
  Host host;
};

constexpr atalaya_window kWindow = {sizeof(kWindow), 0, 2'000'000'000, 1'000'000'000, 1'000'000'000, 1'000'000'000};

template <class Body>
void for_each_release(Body &&body) {
  const auto plugins = released_plugins();
  REQUIRE(plugins.size() >= 1);
  for (const std::string &path : plugins) {
    INFO(path);
    Subject subject(path);
    body(subject);
  }
}

}  // namespace

TEST_CASE("plugins of every release pass the lifecycle kit") {
  for_each_release([](Subject &subject) {
    for (const Finding &finding : verify_plugin(subject.plugin)) CHECK_MESSAGE(finding.problem.empty(), line_of(finding));
  });
}

TEST_CASE("their parameters, and the sentence of one that refuses them") {
  for_each_release([](Subject &subject) {
    const auto refused = subject.make(ATALAYA_SOURCE, "released", 13);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error() == "released: 13 is not a number for this");
  });
}

TEST_CASE("their pull sources: samples, state folder, log, ledger") {
  for_each_release([](Subject &subject) {
    auto source = subject.started(ATALAYA_SOURCE);
    Batch batch;
    CHECK(source->collect(kWindow, batch).code == ATALAYA_OK);
    REQUIRE(batch.count() == 2);
    CHECK(subject.tag_of(batch.raw().samples[0]) == "kind=released");
    CHECK(subject.number_of(batch.raw().samples[0]) == 7);
    CHECK(subject.number_of(batch.raw().samples[1]) == 3);  // rows of the ledger
    CHECK(subject.host.logged == std::vector<std::string>{"released: started", "released: /state"});
  });
}

TEST_CASE("their push sources: emit, acknowledge, interrupt") {
  for_each_release([](Subject &subject) {
    auto push = subject.started(ATALAYA_SOURCE, "released_push");
    subject.host.subscriber = push.get();
    CHECK(push->run().code == ATALAYA_END);  // ends when its batch is acknowledged
    REQUIRE(subject.host.emitted != nullptr);
    REQUIRE(subject.host.emitted->count() == 1);
    CHECK(subject.number_of(subject.host.emitted->raw().samples[0]) == 7);

    subject.host.subscriber = nullptr;
    auto interrupted = subject.started(ATALAYA_SOURCE, "released_push");
    auto answer = std::async(std::launch::async, [&] { return interrupted->run(); });
    interrupted->interrupt();
    CHECK(answer.get().code == ATALAYA_END);
  });
}

TEST_CASE("their translators and filters") {
  for_each_release([](Subject &subject) {
    Batch batch;
    subject.fill(batch, 5);
    CHECK(subject.started(ATALAYA_TRANSLATOR)->process(kWindow, batch).code == ATALAYA_OK);
    REQUIRE(batch.count() == 5);
    CHECK(view_of(batch.raw().samples[4].text) == "some.number");
    CHECK(subject.started(ATALAYA_FILTER)->process(kWindow, batch).code == ATALAYA_OK);
    REQUIRE(batch.count() == 3);
    CHECK(batch.raw().samples[2].fields[0].value.i64 == 4);
    CHECK(subject.host.counted == std::to_string(ATALAYA_COUNT_DROPPED) + " odd one out 2");
  });
}

TEST_CASE("their sinks and commands") {
  for_each_release([](Subject &subject) {
    Batch batch;
    subject.fill(batch, 1);
    auto sink = subject.started(ATALAYA_SINK);
    int64_t retry_after_ns = 0;
    CHECK(sink->write(batch.raw(), retry_after_ns).code == ATALAYA_OK);
    CHECK(sink->write(batch.raw(), retry_after_ns).code == ATALAYA_RETRY);
    CHECK(retry_after_ns == 7);
    CHECK(sink->flush(1).code == ATALAYA_OK);

    auto command = subject.started(ATALAYA_COMMAND);
    int32_t status = -1;
    CHECK(command->command({"do", "fail"}, status).code == ATALAYA_OK);
    CHECK(status == 1);
    CHECK(command->command({}, status).code == ATALAYA_OK);
    CHECK(status == 0);
  });
}
