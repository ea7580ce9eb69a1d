// SPDX-License-Identifier: Apache-2.0
// The lifecycle kit accepts correct plugins and names the errors of others.
#include <doctest/doctest.h>
#include <atalaya/plugin.hpp>

#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "core/plugin/verify/verify.h"

using namespace atalaya::core;
using namespace atalaya::literals;
using atalaya::Code;
using atalaya::Host;

namespace {

constexpr atalaya::MetricTag kTags[] = {{"pid"_str, ATALAYA_TAG_IDENTITY, 0}};
constexpr atalaya::Metric kMetrics[] = {{.name = "demo.value"_str,
                                         .unit = "1"_str,
                                         .kind = ATALAYA_GAUGE,
                                         .decimals = 1,
                                         .tags = kTags,
                                         .tag_count = 1,
                                         .tag_size = sizeof(kTags[0]),
                                         .summary = "A value."_str}};
constexpr atalaya::Param kParams[] = {
    {.name = "path"_str, .type = ATALAYA_STRING, .flags = ATALAYA_REQUIRED, .summary = "A file."_str},
    {.name = "limit"_str,
     .type = ATALAYA_INT,
     .flags = ATALAYA_REQUIRED | ATALAYA_BOUNDED,
     .summary = "A limit."_str,
     .min = 5,
     .max = 9},
    {.name = "wait"_str, .type = ATALAYA_DURATION, .default_text = "5s"_str, .summary = "A wait."_str}};

class Good : public atalaya::Source {
 public:
  static constexpr atalaya::Description description = {
      .name = "good"_str, .summary = "Right."_str, .params = kParams, .metrics = kMetrics};
  explicit Good(Host host) : name_(host.intern("demo.value")), pid_(host.intern("pid")) {
    if (host.integer("limit") < 5) throw atalaya::Failure(Code::bad_config, "limit below its minimum");
  }
  Code collect(const atalaya::Window &, atalaya::Batch &batch) override {
    auto &sample = batch.add(ATALAYA_METRICS, 1, 1);
    batch.tag(sample, pid_, "1");
    batch.field(sample, name_, 1.5);
    return Code::ok;
  }

 private:
  uint32_t name_, pid_;
};

class Undeclared : public atalaya::Source {
 public:
  static constexpr atalaya::Description description = {.name = "undeclared"_str, .summary = "Wrong."_str, .metrics = kMetrics};
  explicit Undeclared(Host host) : host_(host) {}
  Code collect(const atalaya::Window &, atalaya::Batch &batch) override {
    auto &sample = batch.add(ATALAYA_METRICS, 1, 2);
    batch.tag(sample, host_.intern("colour"), "red");
    batch.field(sample, host_.intern("demo.other"), 1.5);
    batch.field(sample, host_.intern("demo.value"), int64_t{1});
    return Code::ok;
  }

 private:
  Host host_;
};

class Fragile : public atalaya::Sink {
 public:
  static constexpr atalaya::Description description = {.name = "fragile"_str, .summary = "Wrong."_str};
  explicit Fragile(Host) {}
  void stop() override {
    if (!stopped_ && !started_) throw std::runtime_error("stopped before it was started");
    stopped_ = true;
  }
  void start() override { started_ = true; }
  Code write(std::span<const atalaya::Sample> samples, int64_t &) override {
    if (samples.empty()) throw std::runtime_error("nothing to write");
    return Code::ok;
  }
  Code flush(int64_t) override { return Code::ok; }

 private:
  bool started_ = false, stopped_ = false;
};

// Emits one batch and waits to be woken.
class Push : public atalaya::PushSource {
 public:
  static constexpr atalaya::Description description = {.name = "push"_str, .summary = "Right."_str, .metrics = kMetrics};
  explicit Push(Host host) : host_(host) {}
  Code run() override {
    const atalaya_host *host = host_.raw();
    atalaya_batch *raw = nullptr;
    if (host->new_batch(host->self, &raw) != ATALAYA_OK) return Code::permanent;
    atalaya::Batch batch(host_, raw);
    batch.field(batch.add(ATALAYA_METRICS, 0, 1), host_.intern("demo.value"), 2.5);
    uint64_t id = 0;
    if (host->emit(host->self, raw, &id) != ATALAYA_OK || id == 0) return Code::permanent;
    if (host->emit(host->self, raw, &id) != ATALAYA_PERMANENT) return Code::permanent;  // it is no longer ours
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [this] { return interrupted_; });
    return Code::ok;
  }
  void interrupt() noexcept override {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    woken_.notify_all();
  }
  void acked(uint64_t, Code) noexcept override {}

 private:
  Host host_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool interrupted_ = false;
};

class Silent : public atalaya::Translator {
 public:
  static constexpr atalaya::Param params[] = {{.name = "mode"_str, .type = ATALAYA_ENUM, .default_text = "fast"_str}};
  static constexpr atalaya::Description description = {.name = "silent"_str, .params = params};
  explicit Silent(Host) {}
  Code process(const atalaya::Window &, atalaya::Batch &) override { return Code::ok; }
};

// Crashes in its second collect.
class Crasher : public atalaya::Source {
 public:
  static constexpr atalaya::Description description = {.name = "crasher"_str, .summary = "Wrong."_str, .metrics = kMetrics};
  explicit Crasher(Host) {}
  Code collect(const atalaya::Window &, atalaya::Batch &) override {
    if (++calls_ > 1) std::abort();
    return Code::ok;
  }

 private:
  int calls_ = 0;
};

class Hanger : public atalaya::Source {
 public:
  static constexpr atalaya::Description description = {.name = "hanger"_str, .summary = "Wrong."_str, .metrics = kMetrics};
  explicit Hanger(Host) {}
  Code collect(const atalaya::Window &, atalaya::Batch &) override {
    for (;;) ::pause();
  }
};

template <class T>
std::vector<std::string> verified_in_processes() {
  static constexpr atalaya_plugin plugin = atalaya::detail::make_plugin<T>("demo"_str, "1.0.0"_str);
  std::vector<std::string> lines;
  verify_in_processes([] { return Plugin::from_descriptor(&plugin, "memory"); },
                      {{ATALAYA_SOURCE, std::string(T::description.name.data, T::description.name.size)}},
                      std::chrono::milliseconds(2000), [&lines](const Finding &finding) { lines.push_back(line_of(finding)); });
  return lines;
}

template <class T>
std::vector<Finding> verified() {
  static constexpr atalaya_plugin plugin = atalaya::detail::make_plugin<T>("demo"_str, "1.0.0"_str);
  const auto opened = Plugin::from_descriptor(&plugin, "memory");
  REQUIRE(opened.ok());
  return verify_plugin(opened.value());
}

std::string problem_of(const std::vector<Finding> &findings, const std::string &step) {
  for (const Finding &finding : findings)
    if (finding.step == step) return finding.problem;
  return "step not tried";
}

}  // namespace

TEST_CASE("a right source passes every step") {
  const auto findings = verified<Good>();
  CHECK(findings.size() == 6);
  for (const Finding &finding : findings) CHECK_MESSAGE(finding.problem.empty(), line_of(finding));
  CHECK(line_of(findings[0]) == "ok       source \"good\": describe");
}

TEST_CASE("a crash and a hang are findings of their step, and the other steps are tried") {
  const auto sound = verified_in_processes<Good>();
  CHECK(sound.size() == 7);
  for (const std::string &line : sound) CHECK_MESSAGE(line.starts_with("ok "), line);
  const auto crashed = verified_in_processes<Crasher>();
  REQUIRE(crashed.size() == 6);
  CHECK(crashed[4] == "ok       source \"crasher\": start and stop twice");
  CHECK(crashed[5] == "FAILED   source \"crasher\": full cycle: collect crashed (SIGABRT)");
  const auto hung = verified_in_processes<Hanger>();
  REQUIRE(hung.size() == 6);
  CHECK(hung[5] == "FAILED   source \"hanger\": full cycle: hangs: it did not end within 2s");
}

TEST_CASE("a push source is interrupted while it waits") {
  for (const Finding &finding : verified<Push>()) CHECK_MESSAGE(finding.problem.empty(), line_of(finding));
}

TEST_CASE("emitted metrics must be declared") {
  CHECK(problem_of(verified<Undeclared>(), "full cycle") ==
        "field \"demo.other\" is not in its metric table; field \"demo.value\" is declared as a measurement and emitted as the "
        "other; "
        "tag \"colour\" is not declared for the fields of its sample");
}

TEST_CASE("a sink that breaks on legal calls") {
  const auto findings = verified<Fragile>();
  CHECK(problem_of(findings, "stop without start") == "stop: stopped before it was started");
  CHECK(problem_of(findings, "full cycle") == "write of an empty batch: nothing to write");
  CHECK(problem_of(findings, "start and stop twice").empty());
}

TEST_CASE("a component that does not explain itself") {
  CHECK(problem_of(verified<Silent>(), "describe")
            .rfind("the component has no sentence that explains it; parameter \"mode\" is an enum without allowed words; parameter "
                   "\"mode\" has no "
                   "sentence that explains it",
                   0) == 0);
}
