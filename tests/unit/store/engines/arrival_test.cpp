// SPDX-License-Identifier: Apache-2.0
// Retention counts the age of data by elapsed time, whatever the wall clock shows.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/now.h"
#include "plugins/shared/store/sqlite/span_writer.h"
#include "tests/unit/rounds.h"
#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

constexpr int64_t kRetain = kDay;

// A machine whose clocks the test moves, with a store.
class Host {
 public:
  explicit Host(Limits limits = {.retain_ns = kRetain}) : limits_(std::move(limits)) { open(); }

  void pass(int64_t ns) {
    elapsed_ns_ += ns;
    clocks_.boottime += ns;
    clocks_.realtime += ns;
  }
  void step(int64_t ns) { clocks_.realtime += ns; }
  void restart() {
    writer_.reset();
    open();
  }
  // The time while it is off is known by the wall clock only.
  void boot(int64_t off_ns) {
    writer_.reset();
    ++boot_;
    clocks_.boottime = 7 * kSecond;
    clocks_.realtime += off_ns;
    open();
  }
  void write(const std::string &process, int64_t time_ns) {
    auto samples = store_.samples();
    samples.metrics(time_ns, {{"process", process}}).real("a", 1);
    writer_->write(samples.span(), writer_->arrival(clocks_));
  }
  void write_many(const std::string &process, int count) {
    auto samples = store_.samples();
    for (int i = 0; i < count; ++i)
      samples.metrics(clocks_.realtime, {{"process", process}, {"pid", std::to_string(i)}}).real("a", 0.123456 + i);
    writer_->write(samples.span(), writer_->arrival(clocks_));
  }
  // A batch with a time of the wall clock.
  void write(const std::string &process) { write(process, clocks_.realtime); }
  void maintain() {
    for (int i = 0; i < 4; ++i) writer_->maintain(writer_->arrival(clocks_));
  }

  size_t points_of(const std::string &process) const { return store_.scan("a", "process", process).size(); }
  const core::ClockReading &clocks() const { return clocks_; }
  int64_t elapsed_ns() const { return elapsed_ns_; }
  const std::vector<std::string> &warnings() const { return warnings_; }
  TestStore &store() { return store_; }

 private:
  void open() {
    Options options{store_.path, limits_};
    options.warn = [this](const std::string &text) { warnings_.push_back(text); };
    options.boot = "boot " + std::to_string(boot_);
    writer_.emplace(options, store_.names());
  }

  TestStore store_;
  const Limits limits_;
  core::ClockReading clocks_{0, kNow, 50 * kSecond};
  int64_t elapsed_ns_ = 0;
  int boot_ = 1;
  std::vector<std::string> warnings_;
  std::optional<Writer> writer_;
};

TEST_CASE("a window that is written under a clock of the past expires nothing before it") {
  Host host;
  host.write("before");
  host.pass(kHour);
  host.step(-8 * kDay);
  host.write("wrong clock");
  host.pass(kSecond);
  host.step(8 * kDay);
  host.write("after");
  host.maintain();
  for (const char *process : {"before", "wrong clock", "after"}) CHECK(host.points_of(process) == 1);
}

TEST_CASE("a clock that is ahead for some batches expires nothing, and does not keep its batches for longer") {
  Host host;
  host.write("before");
  host.pass(kHour);
  host.step(8 * kDay);
  for (int i = 0; i < 3; ++i) {
    host.write("ahead");
    host.maintain();
    host.pass(kSecond);
  }
  host.step(-8 * kDay);
  host.write("after");
  host.maintain();
  CHECK(host.points_of("before") == 1);
  CHECK(host.points_of("ahead") == 3);
  host.pass(kRetain + kLateNs + 1);
  host.write("later");
  host.maintain();
  for (const char *process : {"before", "ahead", "after"}) CHECK(host.points_of(process) == 0);
  CHECK(host.points_of("later") == 1);
}

TEST_CASE("a window of old samples that get a late one stays as long as that one") {
  Host host;
  const int64_t time_ns = host.clocks().realtime;
  host.write("early", time_ns);
  host.pass(kRetain - kHour);
  host.write("late", time_ns);
  SUBCASE("as rows") {
    host.pass(2 * kHour);
    host.maintain();
  }
  SUBCASE("in chunks") {
    for (int i = 0; i < 100; ++i) {
      host.pass(kHour / 50);
      host.write("other");
      host.maintain();
    }
    CHECK(host.store().number(("SELECT count(*) FROM windows WHERE time_ns = " + std::to_string(time_ns)).c_str()) == 0);
  }
  CHECK(host.points_of("late") == 1);
  host.pass(kRetain);
  host.write("new");
  host.maintain();
  CHECK(host.points_of("late") == 0);
  CHECK(host.store().number("SELECT count(*) FROM late_windows") == 0);
}

TEST_CASE("the oldest arrivals go first when the store is too large, whatever the clock was") {
  Host host({.max_bytes = 1 << 20});
  for (int day = 0; day < 8; ++day) {
    host.write_many("day " + std::to_string(day), 4000);
    host.pass(kHour);
    host.step(day % 2 == 0 ? -8 * kDay : 8 * kDay);
  }
  for (int i = 0; i < 20; ++i) host.maintain();
  std::vector<bool> kept;
  for (int day = 0; day < 8; ++day) kept.push_back(host.points_of("day " + std::to_string(day)) > 0);
  CHECK_FALSE(kept.front());
  CHECK(kept.back());
  CHECK(std::is_sorted(kept.begin(), kept.end()));
}

TEST_CASE("a step while no agent writes is reported once, other steps are not reported by the store") {
  Host host;
  host.write("a");
  host.step(kHour);
  host.write("a");
  host.restart();
  host.write("a");
  CHECK(host.warnings().empty());
  host.step(-3 * kDay);
  host.restart();
  host.write("a");
  CHECK(host.warnings() == std::vector<std::string>{"the wall clock was set back by 3d while no agent wrote to " +
                                                    host.store().path + "; the age of its data does not change by that"});
  host.restart();
  host.write("a");
  CHECK(host.warnings().size() == 1);
}

TEST_CASE("a store whose arrivals are times of the wall clock keeps their ages") {
  TestStore store;
  const auto write_at = [&](Writer &writer, const std::string &process, int64_t arrived_ns) {
    writer.write(store.samples().metrics(arrived_ns, {{"process", process}}).real("a", 1).span(), arrived_ns);
  };
  {
    Writer writer = store.writer({.retain_ns = kRetain});
    write_at(writer, "ahead", kNow + 300 * kDay);
    write_at(writer, "old", kNow - kRetain);
    write_at(writer, "young", kNow - kHour);
  }
  Database(store.path, Access::read_write).execute("DELETE FROM arrival_clock");
  core::ClockReading clocks{0, kNow + 90 * kDay, kSecond};  // nothing says that this is right
  Writer writer = store.writer({.retain_ns = kRetain});
  writer.maintain(writer.arrival(clocks));
  for (const char *process : {"old", "young", "ahead"}) CHECK(store.scan("a", "process", process).size() == 1);
  clocks.boottime += 2 * kHour;
  writer.maintain(writer.arrival(clocks));
  CHECK(store.scan("a", "process", "old").empty());
  CHECK(store.scan("a", "process", "young").size() == 1);
  clocks.boottime += kRetain;
  writer.maintain(writer.arrival(clocks));
  CHECK(store.scan("a", "process", "ahead").empty());
}

TEST_CASE("commands that write spans use the clock of the store") {
  TestStore store;
  Writer writer = store.writer({.retain_ns = kRetain});
  const core::ClockReading real = core::read_clocks();
  core::ClockReading wrong = real;
  wrong.realtime -= 1000 * kDay;
  const int64_t arrived_ns = writer.arrival(wrong);
  SpanWriter spans(store.path, store.names());
  CHECK(spans.arrival(real) == arrived_ns);
}

// ---- The law: what arrived less than `retain` ago is there, and what arrived earlier goes.

class Law {
 public:
  explicit Law(uint32_t seed) : random_(seed) {}

  void run() {
    for (int act = 0; act < 600; ++act) {
      one_act();
      if (act % 10 == 0) host_.maintain();
      if (act % 30 == 0) check_young();
    }
    check_young();
    check_old();
  }

 private:
  using Key = std::pair<std::string, int64_t>;

  int64_t below(int64_t limit) { return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_); }
  int64_t some_step() {
    static constexpr std::array kLengths = {3 * kSecond, kHour, 9 * kDay, 1100 * kDay};
    const int64_t length = 1 + below(kLengths[static_cast<size_t>(below(kLengths.size()))]);
    return below(2) == 0 ? length : -length;
  }
  void one_act() {
    host_.pass(below(20) == 0 ? below(6 * kHour) : below(10 * kSecond * 60));
    switch (below(20)) {
      case 0:
        return host_.step(some_step());
      case 1:
        return host_.restart();
      case 2:
        return host_.boot(some_step());
      default:
        write();
    }
  }
  // Each sender has its own clock, and sends some of its samples again, or late.
  void write() {
    const int64_t sender = below(4);
    const int64_t ahead_ns = sender == 0 ? host_.clocks().realtime - host_.elapsed_ns() : kNow + (sender - 2) * 400 * kDay;
    const int64_t late_ns = below(4) == 0 ? below(kDay) : 0;
    const int64_t time_ns = (ahead_ns + host_.elapsed_ns() - late_ns) / kMinute * kMinute;
    const std::string process = std::to_string(sender) + " " + std::to_string(below(3));
    host_.write(process, time_ns);
    arrivals_[{process, time_ns}] = host_.elapsed_ns();
  }

  std::map<Key, bool> stored() const {
    std::map<Key, bool> all;
    for (int sender = 0; sender < 4; ++sender)
      for (int i = 0; i < 3; ++i) {
        const std::string process = std::to_string(sender) + " " + std::to_string(i);
        for (const Point &point : host_.store().scan("a", "process", process)) all[{process, point.time_ns}] = true;
      }
    return all;
  }
  void check_young() {
    const auto all = stored();
    size_t missing = 0;
    for (const auto &[key, arrived_ns] : arrivals_)
      if (host_.elapsed_ns() - arrived_ns < kRetain && !all.contains(key)) ++missing;
    CHECK(missing == 0);
  }
  void check_old() {
    host_.pass(kRetain + kLateNs + 1);
    host_.write("last");
    for (int i = 0; i < 10; ++i) host_.maintain();
    CHECK(stored().empty());
    CHECK(host_.points_of("last") == 1);
    host_.pass(kRetain - kHour);  // entities are seen ahead of time, some hours
    host_.write("last");
    host_.maintain();
    CHECK(host_.store().sql("SELECT process FROM entities") == std::vector<std::string>{"last"});
  }

  static constexpr int64_t kMinute = 60 * kSecond;
  std::mt19937 random_;
  mutable Host host_;
  std::map<Key, int64_t> arrivals_;
};

TEST_CASE("law: under clocks that step, restarts and boots nothing expires before its time, and everything after it") {
  for (uint32_t seed = 1; seed <= atalaya::test::rounds(8); ++seed) {
    CAPTURE(seed);
    Law(seed).run();
  }
}

}  // namespace
}  // namespace atalaya::store::test
