// SPDX-License-Identifier: Apache-2.0
// Samples that sinks refuse are sent again, and given up when that is impossible.
#include "plugins/sources/hadoop/delivery.h"

#include <doctest/doctest.h>

#include "core/base/now.h"
#include "core/plugin/instance.h"

namespace atalaya::hadoop {
namespace {

class Giver final : public PushSource {
 public:
  static constexpr Description description = {.name = "giver"_str, .summary = "for this test"_str};
  static inline Delivery *delivery = nullptr;

  explicit Giver(Host host) : delivery_(host, 10) { delivery = &delivery_; }
  Code run() override { return Code::end; }
  void interrupt() noexcept override {}
  void acked(uint64_t, Code) noexcept override {}

 private:
  Delivery delivery_;
};

class Sink final : public core::Surroundings {
 public:
  core::BatchOwner new_batch() override { return std::make_unique<core::Batch>(); }
  int32_t emit(core::BatchOwner, uint64_t &id) override {
    id = ++last;
    return ATALAYA_OK;
  }
  void log(core::LogLevel, std::string_view text) override { (logged += text) += '\n'; }

  uint64_t last = 0;
  std::string logged;
};

struct Given {
  Given() {
    std::vector<core::Problem> problems;
    const atalaya_component &component = detail::component_of<Giver>;
    auto made = core::Instance::create({nullptr, &component}, core::Parameters::resolve(core::schema_of(component), {}, problems),
                                       "test", symbols, sink);
    REQUIRE(made.ok());
    instance = std::move(*made);
    delivery = Giver::delivery;
    delivery->start();
  }
  // Gives a span of the file; the id of its batch.
  uint64_t give(const std::string &path) {
    protocols::Span span;
    span.text = "job";
    span.start_ms = 1;
    REQUIRE(delivery->send(path, "key", {span}, {0, 1}));
    return sink.last;
  }
  void answer(uint64_t id, Code code) {
    delivery->acked(id, code);
    delivery->settle();
  }

  core::Symbols symbols;
  Sink sink;
  std::unique_ptr<core::Instance> instance;
  Delivery *delivery = nullptr;
};

}  // namespace

TEST_CASE("delivery: a file that was refused is forgotten when it is gone and nothing of it is under way") {
  Given given;
  const uint64_t first = given.give("a"), second = given.give("a");
  given.answer(first, Code::permanent);
  given.delivery->forget_all_but({"a"});
  CHECK(given.delivery->next_attempt());
  given.delivery->forget_all_but({});
  CHECK(given.delivery->next_attempt());
  given.answer(second, Code::ok);
  given.delivery->forget_all_but({});
  CHECK_FALSE(given.delivery->next_attempt());
}

TEST_CASE("delivery: a file that was refused and cannot be read again is given up") {
  Given given;
  const int64_t begun = core::monotonic();
  given.answer(given.give("a"), Code::permanent);
  given.delivery->count_attempts(begun);  // it still had to wait
  for (int tried = 0; tried < 4; ++tried) {
    CHECK(given.delivery->next_attempt());
    CHECK(given.sink.logged.find("giving up") == std::string::npos);
    given.delivery->count_attempts(INT64_MAX);
  }
  CHECK_FALSE(given.delivery->next_attempt());
  CHECK(given.sink.logged.find("a: a sink refused its spans, and the file could not be read again; giving up") !=
        std::string::npos);
}

}  // namespace atalaya::hadoop
