// SPDX-License-Identifier: Apache-2.0
// Samples of processes that rest and end, as the kernel's iterator reports them.
#include "plugins/sources/proc/process/process_collector.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "tests/unit/sources/proc/process_test_host.h"

namespace atalaya::proc {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// A host whose processes run, rest, end and are born at random, as the kernel reports it.
class RandomHost final : public ProcessBackend {
 public:
  explicit RandomHost(uint32_t seed) : random_(seed) {}

  std::optional<uint64_t> uptime() override { return static_cast<uint64_t>(now_ns); }
  void follow_exits(const ProcessModel &, OnExit) override {}
  void report_exits() override {}
  std::optional<uint64_t> lost_exits() const override { return std::nullopt; }
  void read(ProcessModel &model) override {
    for (int32_t pid = 1; pid <= 8; ++pid) {
      procfs::ProcessReading &process = all_[static_cast<size_t>(pid)];
      const auto chance = random_() % 40;
      if (chance == 0) process.start_ns = 0;  // it ends
      if (process.start_ns == 0) {
        if (chance > 5) continue;
        process = {};
        process.pid = pid;
        process.name = procfs::Name("p" + std::to_string(random_() % 3));
        process.start_ns = static_cast<uint64_t>(now_ns);
        for (size_t i = 0; i < procfs::kCounters; ++i) process.counters.set(static_cast<procfs::Counter>(i), 0);
      } else if (chance < 34 && model.mark_idle(pid)) {
        continue;
      }
      process.monotonic_ns = now_ns;
      process.gauges.set(procfs::Gauge::resident_kib, random_() % 100'000);
      process.gauges.set(procfs::Gauge::threads, random_() % 5);
      process.counters.set(procfs::Counter::user_ns, process.counters.get(procfs::Counter::user_ns) + random_() % 50'000'000);
      model.update(process);
    }
  }

  int64_t now_ns = 0;

 private:
  std::mt19937 random_;
  std::array<procfs::ProcessReading, 9> all_;
};

// The integrals over time of all samples of a collector on such a host.
class IntegralsOfHost {
 public:
  IntegralsOfHost(uint32_t seed, int64_t idle_interval_ns, uint64_t idle_below_kib = UINT64_MAX) {
    auto backend = std::make_unique<RandomHost>(seed);
    backend_ = backend.get();
    collector_.emplace(host_.host(),
                       ProcessOptions{.expensive_budget = 0,
                                      .exited = false,
                                      .unattributed = false,
                                      .idle_interval_ns = idle_interval_ns,
                                      .idle_below_kib = idle_below_kib},
                       std::move(backend));
    collector_->start();
  }
  void collect(int64_t time_ns, int64_t duration_ns) {
    host_.fixed_now = backend_->now_ns = time_ns;
    batch_.clear();
    Batch wrapped(host_.host(), &batch_.raw());
    Window window{};
    window.struct_size = sizeof(window);
    window.time_ns = window.monotonic_ns = time_ns;
    window.duration_ns = duration_ns;
    collector_->collect(window, wrapped);
    samples += wrapped.samples().size();
    for (const Sample &sample : wrapped.samples()) {
      const bool is_of_window = sample.time_ns == 0;
      const int64_t until_ns = is_of_window ? time_ns : sample.time_ns, length_ns = is_of_window ? duration_ns : sample.duration_ns;
      const std::string process = std::string(view(sample.tags[0].value)) + " " + std::string(view(sample.tags[1].value));
      int64_t &covered = covered_[process];
      if (until_ns - length_ns < covered) overlaps = true;
      for (uint32_t i = 0; i < sample.field_count; ++i)
        if (host_.name(sample.fields[i].name) == "proc.mem.resident" && length_ns > duration_ns)
          largest_merged_mib = std::max(largest_merged_mib, as_double(sample.fields[i]));
      covered = until_ns;
      for (uint32_t i = 0; i < sample.field_count; ++i)
        sums[process + " " + std::string(host_.name(sample.fields[i].name))] +=
            as_double(sample.fields[i]) * static_cast<double>(length_ns) / kSecond;
    }
  }

  std::map<std::string, double> sums;
  size_t samples = 0;
  bool overlaps = false;
  double largest_merged_mib = 0;

 private:
  TestHost host_;
  RandomHost *backend_ = nullptr;
  std::optional<ProcessCollector> collector_;
  core::Batch batch_;
  std::map<std::string, int64_t> covered_;
};

void check_equal(const std::map<std::string, double> &each, const std::map<std::string, double> &merged) {
  REQUIRE(each.size() == merged.size());
  for (const auto &one : each)
    CHECK_MESSAGE(std::abs(merged.at(one.first) - one.second) <= 1e-6 * (1 + std::abs(one.second)), one.first);
}

TEST_CASE("with rest, the integral of each field of each process is that of one sample per window") {
  constexpr int64_t kTenth = kSecond / 10, kBegin = 1'700'000'000 * kSecond;
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    IntegralsOfHost each(seed, 0), merged(seed, kSecond);
    int64_t before = 0;
    for (int64_t tenth = 1; tenth <= 600; ++tenth) {
      if (tenth % 37 == 0) continue;  // a missed window: the next one covers it
      for (IntegralsOfHost *one : {&each, &merged}) one->collect(kBegin + tenth * kTenth, (tenth - before) * kTenth);
      before = tenth;
      if (tenth % 10 != 0) continue;
      check_equal(each.sums, merged.sums);
    }
    CHECK_FALSE(each.overlaps);
    CHECK_FALSE(merged.overlaps);
    CHECK(merged.samples < each.samples / 2);
  }
}

TEST_CASE("with rest_below, only processes with less memory rest, and the integrals stay the same") {
  constexpr int64_t kMinute = 60 * kSecond, kBegin = 28'333'334 * kMinute;
  constexpr uint64_t kLimitMib = 40;
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    IntegralsOfHost each(seed, 0), all(seed, kMinute), small(seed, kMinute, kLimitMib << 10);
    for (int64_t second = 1; second <= 600; ++second)
      for (IntegralsOfHost *one : {&each, &all, &small}) one->collect(kBegin + second * kSecond, kSecond);
    check_equal(each.sums, small.sums);
    CHECK_FALSE(small.overlaps);
    CHECK(all.largest_merged_mib >= kLimitMib);
    CHECK(small.largest_merged_mib > 0);
    CHECK(small.largest_merged_mib < kLimitMib);
  }
}

// A process "child" of a process "parent". In the pass `ends_in` both are still in the list and end meanwhile; in the next pass
// both are missing.
class Ending final : public ProcessBackend {
 public:
  explicit Ending(bool in_list) : in_list_(in_list) {}

  std::optional<uint64_t> uptime() override { return static_cast<uint64_t>(pass) * kSecond; }
  std::optional<uint64_t> lost_exits() const override { return 0; }
  void read(ProcessModel &model) override {
    if (pass < 3 || (pass == 3 && in_list_))
      for (const int32_t pid : {7, 8}) model.update(reading(pid));
  }
  void follow_exits(const ProcessModel &, OnExit take) override { take_ = std::move(take); }
  void report_exits() override {
    if (pass != 3) return;
    for (const int32_t pid : {7, 8}) take_({reading(pid), procfs::Name(pid == 8 ? "parent" : "init"), 0});
  }

  int64_t pass = 0;

 private:
  procfs::ProcessReading reading(int32_t pid) const {
    procfs::ProcessReading process;
    process.pid = pid;
    process.name = procfs::Name(pid == 8 ? "child" : "parent");
    process.start_ns = kSecond;
    process.monotonic_ns = pass * kSecond;
    process.counters.set(procfs::Counter::user_ns, static_cast<uint64_t>(pass) * 1'000'000);
    process.counters.set(procfs::Counter::kernel_ns, 0);
    process.gauges.set(procfs::Gauge::parent, pid == 8 ? 7 : 1);
    return process;
  }
  const bool in_list_;
  OnExit take_;
};

// Rules about ended processes select by the parent: it must be known for those that lived for hours too.
TEST_CASE("the end of a process that had a series counts once, with the parent that it had, also where both end together") {
  for (const bool in_list : {false, true}) {
    CAPTURE(in_list);
    TestHost host;
    auto owned = std::make_unique<Ending>(in_list);
    Ending &backend = *owned;
    ProcessCollector collector(host.host(), ProcessOptions{.tags = {"parent"}, .expensive_budget = 0, .unattributed = false},
                               std::move(owned));
    collector.start();
    core::Batch batch;
    std::map<std::string, int64_t> exits;
    for (backend.pass = 1; backend.pass <= 5; ++backend.pass) {
      host.fixed_now = backend.pass * kSecond;
      batch.clear();
      Batch wrapped(host.host(), &batch.raw());
      collector.collect(host.next_window(), wrapped);
      for (const Sample &sample : wrapped.samples()) {
        std::string tags;
        for (uint32_t i = 0; i < sample.tag_count; ++i)
          (tags += tags.empty() ? "" : " ") +=
              std::string(host.name(sample.tags[i].key)) + "=" + std::string(view(sample.tags[i].value));
        for (uint32_t i = 0; i < sample.field_count; ++i)
          if (host.name(sample.fields[i].name) == "proc.exits") exits[tags] += sample.fields[i].value.i64;
      }
    }
    CHECK(exits ==
          std::map<std::string, int64_t>{{"pid=7 process=parent parent=init", 1}, {"pid=8 process=child parent=parent", 1}});
  }
}

}  // namespace
}  // namespace atalaya::proc
