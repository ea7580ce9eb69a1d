// SPDX-License-Identifier: Apache-2.0
// Conservation: whatever processes used is in the samples once, in windows of any length.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/sources/proc/process/process_collector.h"
#include "tests/unit/sources/proc/process_test_host.h"

namespace atalaya::proc {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kBytesPerNs = 1;  // written, while it uses the CPU

// A process runs from its start to its exit, is a zombie until it is reaped, and is freed then. Its pid is in use until it is
// reaped.
struct Life {
  int32_t pid = 0;
  std::string name;
  uint64_t start_ns = 0, exit_ns = 0, reaped_ns = 0, freed_ns = 0;
  bool reported = false;

  uint64_t used(uint64_t at_ns) const { return std::min(at_ns, exit_ns) - std::min(at_ns, start_ns); }
};

// Lives by a plan; ends are reported when a process is freed, as by BPF, or when it exits, as by taskstats.
class Planned final : public ProcessBackend {
 public:
  Planned(std::vector<Life> lives, bool at_exit, uint64_t begin_ns)
      : now_ns(begin_ns), lives_(std::move(lives)), at_exit_(at_exit) {}

  std::optional<uint64_t> uptime() override { return now_ns; }
  std::optional<uint64_t> lost_exits() const override { return 0; }
  void follow_exits(const ProcessModel &, OnExit take) override { take_ = std::move(take); }
  void report_exits() override { report_until(now_ns); }

  // A pass takes time, in which processes are born and end.
  void read(ProcessModel &model) override {
    const auto monotonic_ns = static_cast<int64_t>(now_ns);
    now_ns += kStep;
    for (const Life &life : lives_) {
      if (life.start_ns > now_ns || life.reaped_ns <= now_ns) continue;
      procfs::ProcessReading process = reading(life, now_ns);
      process.monotonic_ns = monotonic_ns;
      process.ended = at_exit_ && life.exit_ns <= now_ns;
      model.update(process);
    }
    now_ns += kStep;
  }

  // Between passes a thread does it.
  void report_until(uint64_t until_ns) {
    for (Life &life : lives_) {
      if (life.reported || (at_exit_ ? life.exit_ns : life.freed_ns) > until_ns) continue;
      life.reported = true;
      take_({reading(life, life.exit_ns), procfs::Name("parent"), 0});
    }
  }

  static constexpr uint64_t kStep = 1'000'000;
  uint64_t now_ns;

 private:
  static procfs::ProcessReading reading(const Life &life, uint64_t at_ns) {
    procfs::ProcessReading process;
    process.pid = life.pid;
    process.name = procfs::Name(life.name);
    process.start_ns = life.start_ns;
    process.counters.set(procfs::Counter::user_ns, life.used(at_ns));
    process.counters.set(procfs::Counter::kernel_ns, 0);
    process.counters.set(procfs::Counter::disk_writes_bytes, life.used(at_ns) * kBytesPerNs);
    return process;
  }

  std::vector<Life> lives_;
  const bool at_exit_;
  OnExit take_;
};

// The amounts of all samples by name of the process, and the most that rounding of rates can have changed.
struct Amount {
  double cpu_ns = 0, bytes = 0, cpu_error_ns = 1, bytes_error = 1;
};
using Amounts = std::map<std::string, Amount>;

class Sums {
 public:
  explicit Sums(std::unique_ptr<Planned> backend)
      : backend_(*backend), collector_(host_.host(), {.expensive_budget = 0, .unattributed = false}, std::move(backend)) {
    collector_.start();
  }

  void pass() {
    const int64_t previous_ns = std::exchange(host_.fixed_now, static_cast<int64_t>(backend_.now_ns));
    const double seconds = previous_ns == 0 ? 0 : static_cast<double>(host_.fixed_now - previous_ns) / 1e9;
    batch_.clear();
    Batch batch(host_.host(), &batch_.raw());
    collector_.collect(host_.next_window(), batch);
    // Of samples with the same tags and time a store keeps the last one.
    std::map<std::string, Amount> series;
    for (const Sample &sample : batch.samples()) series[tags_of(sample)] = amount_of(sample, seconds);
    for (const auto &one : series) series_.insert(one.first);
    for (const Sample &sample : batch.samples())
      if (const auto kept = series.extract(tags_of(sample))) add(kept.mapped(), amounts_[tag_of(sample, "process")]);
  }
  const Amounts &amounts() const { return amounts_; }
  // The series of all passes: pid, process and parent.
  const std::set<std::string> &series() const { return series_; }

 private:
  static void add(const Amount &more, Amount &sum) {
    sum.cpu_ns += more.cpu_ns;
    sum.bytes += more.bytes;
    sum.cpu_error_ns += more.cpu_error_ns;
    sum.bytes_error += more.bytes_error;
  }
  Amount amount_of(const Sample &sample, double seconds) const {
    Amount amount;
    for (uint32_t i = 0; i < sample.field_count; ++i) {
      const auto &field = sample.fields[i];
      if (host_.name(field.name) == "proc.cpu.user") {
        amount.cpu_ns += field.value.f64 / 100 * seconds * 1e9;
        amount.cpu_error_ns += 0.00005 * seconds * 1e9 * 1.01;
      } else if (host_.name(field.name) == "proc.disk.writes.mb") {
        amount.bytes += field.value.f64 * seconds * 1048576;
        amount.bytes_error += 0.0005 * seconds * 1048576 * 1.01;
      }
    }
    return amount;
  }
  std::string tag_of(const Sample &sample, std::string_view key) const {
    for (uint32_t i = 0; i < sample.tag_count; ++i)
      if (host_.name(sample.tags[i].key) == key) return std::string(view(sample.tags[i].value));
    return {};
  }
  std::string tags_of(const Sample &sample) const {
    return tag_of(sample, "pid") + " " + tag_of(sample, "process") + " " + tag_of(sample, "parent");
  }

  TestHost host_;
  Planned &backend_;
  ProcessCollector collector_;
  core::Batch batch_;
  Amounts amounts_;
  std::set<std::string> series_;
};

class Random {
 public:
  explicit Random(uint32_t seed) : random_(seed) {}
  uint64_t below(uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }
  // Of any order of magnitude up to the limit.
  uint64_t of_any_size(uint64_t limit) { return below(limit >> below(30)); }

 private:
  std::mt19937_64 random_;
};

// Few pids: each has one process after the other. The kernel frees a process up to 11 s after it was reaped.
std::vector<Life> random_lives(Random &random, uint64_t begin_ns, uint64_t end_ns, uint64_t window_ns) {
  std::vector<Life> lives;
  for (int32_t pid = 1; pid <= 12; ++pid) {
    uint64_t at_ns = begin_ns - random.of_any_size(100 * kSecond);
    for (int i = 0; i < 60; ++i) {
      Life life;
      life.pid = pid;
      life.name = random.below(5) == 0 ? "java" : "name " + std::to_string(random.below(4));
      life.start_ns = at_ns + random.of_any_size(2 * window_ns) + 1;
      life.exit_ns = life.start_ns + random.of_any_size(4 * window_ns);
      life.reaped_ns = life.exit_ns + (random.below(2) == 0 ? 1 : random.of_any_size(2 * window_ns) + 1);
      life.freed_ns = life.reaped_ns + random.of_any_size(11 * kSecond);
      if (life.freed_ns >= end_ns) break;
      // Usage in the first pass itself is before or after it, as the pass sees the process.
      if (life.exit_ns < begin_ns || life.exit_ns > begin_ns + 2 * Planned::kStep) lives.push_back(life);
      at_ns = life.reaped_ns;
    }
  }
  return lives;
}

// All usage since the first pass.
Amounts oracle(const std::vector<Life> &lives, uint64_t first_ns) {
  Amounts amounts;
  for (const Life &life : lives) {
    const uint64_t used = life.used(life.exit_ns) - life.used(first_ns);
    amounts[life.name].cpu_ns += static_cast<double>(used);
    amounts[life.name].bytes += static_cast<double>(used * kBytesPerNs);
  }
  return amounts;
}

TEST_CASE("in windows from 0.1 s to 10 min the samples of live and ended processes sum to their usage") {
  bool at_exit = false;
  SUBCASE("ends are reported when processes are freed") {}
  SUBCASE("ends are reported when processes exit") {
    at_exit = true;
  }
  for (uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const uint64_t window_ns = kSecond / 10 << random.below(13);  // up to 409.6 s, and half as much more
    constexpr uint64_t kBegin = 1000 * kSecond;
    const uint64_t end_ns = kBegin + 40 * window_ns;
    const std::vector<Life> lives = random_lives(random, kBegin, end_ns, window_ns);
    auto owned = std::make_unique<Planned>(lives, at_exit, kBegin);
    Planned &backend = *owned;
    Sums sums(std::move(owned));
    sums.pass();
    while (backend.now_ns < end_ns) {
      const uint64_t next_ns = backend.now_ns + window_ns / 2 + random.below(window_ns);
      for (uint64_t i = random.below(3); i > 0; --i) backend.report_until(backend.now_ns + random.below(next_ns - backend.now_ns));
      backend.now_ns = next_ns;
      sums.pass();
    }
    for (const auto &[name, right] : oracle(lives, kBegin + Planned::kStep)) {
      CAPTURE(name);
      const auto found = sums.amounts().find(name);
      REQUIRE(found != sums.amounts().end());
      CHECK(std::abs(found->second.cpu_ns - right.cpu_ns) <= found->second.cpu_error_ns);
      CHECK(std::abs(found->second.bytes - right.bytes) <= found->second.bytes_error);
    }
  }
}

TEST_CASE("an interpreter that no pass saw has a sample with its pid, unless it is short or its pid is in use again") {
  constexpr uint64_t kBegin = 1000 * kSecond;
  const auto life = [](int32_t pid, const char *name, uint64_t cpu_ns) {
    return Life{pid, name, kBegin + kSecond, kBegin + kSecond + cpu_ns, kBegin + 4 * kSecond, kBegin + 5 * kSecond};
  };
  Life again = life(6, "java", kSecond);
  again.start_ns += 5 * kSecond;
  again.exit_ns = again.reaped_ns = again.freed_ns = kBegin + 100 * kSecond;
  auto owned = std::make_unique<Planned>(
      std::vector{life(1, "java", 2 * kSecond), life(2, "python3.11", kSecond), life(3, "java", kSecond / 3),
                  life(4, "javac", 2 * kSecond), life(5, "sleep", 2 * kSecond), life(6, "java", 2 * kSecond), again},
      false, kBegin);
  Planned &backend = *owned;
  Sums sums(std::move(owned));
  sums.pass();
  SUBCASE("its end is reported at the next pass") {
    backend.now_ns += 20 * kSecond;
  }
  SUBCASE("its end is reported between passes") {
    backend.report_until(backend.now_ns + 10 * kSecond);
    backend.now_ns += 20 * kSecond;
  }
  sums.pass();
  CHECK(sums.series() ==
        std::set<std::string>{"1 java ", "2 python3.11 ", "6 java ", " java parent", " javac parent", " sleep parent"});
}

}  // namespace
}  // namespace atalaya::proc
