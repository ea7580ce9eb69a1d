// SPDX-License-Identifier: Apache-2.0
// SIGKILL at any moment: during ingest, packing, roll-ups, retention.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <string>
#include <utility>

#include "plugins/shared/store/sql/points_table.h"
#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

constexpr int kSamples = 50;
constexpr int64_t kWindowsARound = 100;  // at most
constexpr int64_t kRetained = 3000;      // windows, each a second later
constexpr int64_t kStart = kNow - kNow % kHour;

// Runs it in a child until some bytes of progress have come and a while after that, then kills it. Returns the bytes that came.
template <class Work>
int64_t run_and_kill(Work &&work, int64_t wanted, uint64_t spins) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe[0]);
    work(pipe[1]);
    ::_exit(0);
  }
  ::close(pipe[1]);
  int64_t came = 0;
  char byte = 0;
  while (came < wanted && ::read(pipe[0], &byte, 1) == 1) ++came;
  for (volatile uint64_t spin = spins; spin > 0;) spin = spin - 1;  // into the middle of the next step
  ::kill(child, SIGKILL);
  while (::read(pipe[0], &byte, 1) == 1) ++came;
  ::close(pipe[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return came;
}

// Writes windows and a byte for each acknowledged one, and does an agent's upkeep after each.
void write_windows(const std::string &path, int64_t first, int progress) {
  core::Symbols symbols;
  Writer writer({path, {.retain_ns = kRetained * kSecond}, false}, [&](uint32_t id) { return symbols.name(id); });
  for (int64_t window = first; window < first + kWindowsARound; ++window) {
    const int64_t time_ns = kStart + window * kSecond;
    Samples samples(symbols);
    for (int i = 0; i < kSamples; ++i)
      samples.metrics(time_ns, {{"pid", std::to_string(window / 300 * 1000 + i)}}).real("a", i).count("window", window);
    writer.write(samples.span(), time_ns);
    if (::write(progress, "x", 1) != 1) ::_exit(1);
    writer.maintain(time_ns);
  }
}

void check_sound(const TestStore &store) {
  CHECK(store.sql("PRAGMA integrity_check") == std::vector<std::string>{"ok"});
}

// Points of the metric "window" between two values, rows and chunks, each once.
int64_t windows_between(const TestStore &store, int64_t first, int64_t last) {
  Database database(store.path, Access::read_only);
  REQUIRE(register_points(database.handle()));
  Statement count(database,
                  "SELECT count(*) FROM points WHERE metric = 'window' AND value BETWEEN ?1 AND ?2 AND time = value * 1000 + ?3");
  return count.number(first, last, kStart / 1'000'000).value_or(-1);
}

TEST_CASE("after SIGKILL at any moment the database is sound and holds everything that was acknowledged") {
  TestStore store;
  std::mt19937 random(20'11);
  int64_t acknowledged = 0;
  std::vector<std::pair<int64_t, int64_t>> rounds;  // first and last window
  for (int64_t round = 0; round < 40; ++round) {
    const int64_t first = round * kWindowsARound;
    const auto wanted = static_cast<int64_t>(1 + random() % kWindowsARound);
    const int64_t came =
        run_and_kill([&](int progress) { write_windows(store.path, first, progress); }, wanted, random() % 2'000'000);
    REQUIRE(came > 0);
    acknowledged += came;
    rounds.emplace_back(first, first + came - 1);
    check_sound(store);
    CHECK(windows_between(store, first, first + came - 1) == came * kSamples);
    // Whole batches only: nothing of the one after the last but all of it.
    CHECK(windows_between(store, first, first + kWindowsARound) % kSamples == 0);
  }
  CHECK(acknowledged > 1000);
  const int64_t last = rounds.back().second;
  for (const auto &[from, to] : rounds)
    if (from > last - kRetained) CHECK(windows_between(store, from, to) == (to - from + 1) * kSamples);
  CHECK(store.number("SELECT count(*) FROM chunks") > 0);
  CHECK(windows_between(store, 0, 500) == 0);  // retention continued, too
}

int64_t sum_of_points(const TestStore &store) {
  Database database(store.path, Access::read_only);
  REQUIRE(register_points(database.handle()));
  return Statement(database, "SELECT sum(value) FROM points WHERE metric = 'flow.sent.bytes'").number().value_or(0);
}

// Windows of two seconds with values that take space: after some ten minutes there are chunks to join.
void join_windows(const std::string &path, int64_t first, int progress) {
  core::Symbols symbols;
  Writer writer({path, {}, false}, [&](uint32_t id) { return symbols.name(id); });
  for (int64_t window = first; window < first + kWindowsARound; ++window) {
    const int64_t time_ns = kStart + window * 2 * kSecond;
    std::mt19937 random(static_cast<uint32_t>(window));
    Samples samples(symbols);
    for (int i = 0; i < kSamples / 10; ++i)
      samples.metrics(time_ns, {{"pid", std::to_string(i)}})
          .count("window", window)
          .count("flow.sent.bytes", 1 + i)
          .count("noise", static_cast<int64_t>(random()))
          .count("more", static_cast<int64_t>(random()));
    writer.write(samples.span(), time_ns);
    if (::write(progress, "x", 1) != 1) ::_exit(1);
    writer.maintain(time_ns);
  }
}

TEST_CASE("killed while it joins chunks, a store has each sample once") {
  TestStore store;
  std::mt19937 random(70);
  constexpr int64_t kSum = int64_t{kSamples / 10} * (kSamples / 10 + 1) / 2;
  int64_t acknowledged = 0, joined = 0;
  for (int64_t round = 0; round < 40; ++round) {
    const auto wanted = static_cast<int64_t>(1 + random() % kWindowsARound);
    const int64_t first = round * kWindowsARound;
    acknowledged += run_and_kill([&](int progress) { join_windows(store.path, first, progress); }, wanted, random() % 2'000'000);
    check_sound(store);
    const int64_t sum = sum_of_points(store);
    CHECK(sum >= acknowledged * kSum);
    acknowledged = sum / kSum;
    CHECK(sum == acknowledged * kSum);
    // A chunk of more than one stretch of ten minutes.
    joined = std::max(joined, store.number("SELECT count(*) FROM chunks WHERE last_ns - first_ns > 700 * 1000000000"));
    CHECK(store.number("SELECT count(*) FROM chunks a JOIN chunks b ON a.entity = b.entity AND a.id < b.id "
                       "AND a.first_ns <= b.last_ns AND b.first_ns <= a.last_ns WHERE NOT EXISTS (SELECT 1 FROM unfinished)") == 0);
  }
  CHECK(joined > 0);
}

// An hour is rolled up after ten minutes, so that there is always something to roll up.
Limits hasty_rollup() {
  return {.rollup = {{600 * kSecond, 10 * kSecond, {}}, {3 * kHour, 60 * kSecond, {}}}};
}

void roll_up_windows(const std::string &path, int64_t first, int progress) {
  core::Symbols symbols;
  const testing::Declarations declared = usual_declarations();
  const core::NameOf name_of = [&](uint32_t id) { return symbols.name(id); };
  Writer writer({path, hasty_rollup(), false}, name_of, declared.metric_of(name_of));
  for (int64_t window = first; window < first + kWindowsARound; ++window) {
    const int64_t time_ns = kStart + window * 6 * kSecond;
    Samples samples(symbols);
    for (int i = 0; i < kSamples; ++i)
      samples.metrics(time_ns, {{"pid", std::to_string(window / 300 * 1000 + i)}})
          .count("flow.sent.bytes", 1 + i)
          .real("a", static_cast<double>(window * window % 1009) / 8)
          .real("b", static_cast<double>(window * i % 997) / 100);
    writer.write(samples.span(), time_ns);
    if (::write(progress, "x", 1) != 1) ::_exit(1);
    writer.maintain(time_ns);
  }
}

constexpr int64_t kABatch = int64_t{kSamples} * (kSamples + 1) / 2;
TEST_CASE("killed while it rolls up, a store has each sample once") {
  TestStore store;
  std::mt19937 random(28);
  int64_t acknowledged = 0, rolled = 0;
  for (int64_t round = 0; round < 50; ++round) {
    const auto wanted = static_cast<int64_t>(1 + random() % kWindowsARound);
    const int64_t first = round * kWindowsARound;
    acknowledged += run_and_kill([&](int progress) { roll_up_windows(store.path, first, progress); }, wanted, random() % 2'000'000);
    check_sound(store);
    const int64_t sum = sum_of_points(store);
    // The batch after the last one that was acknowledged may have been committed.
    CHECK(sum >= acknowledged * kABatch);
    acknowledged = sum / kABatch;
    CHECK(sum == acknowledged * kABatch);
    rolled = std::max(rolled, store.number("SELECT count(*) FROM rolled"));
  }
  CHECK(rolled > 0);
  Writer writer = store.writer(hasty_rollup());
  for (int i = 0; i < 40; ++i) writer.write({}, kStart + 10 * kDay);
  while (writer.maintain(kStart + 10 * kDay)) {
  }
  check_sound(store);
  CHECK(store.sql("SELECT DISTINCT every_ns / 1000000000 FROM rolled") == std::vector<std::string>{"60"});
  CHECK(store.number("SELECT count(*) FROM chunks") == 0);
  CHECK(sum_of_points(store) == acknowledged * kABatch);
}

// Processes that live for five windows of a second. Of each window the sum is known.
constexpr int64_t kLives = 20;
void write_lives(const std::string &path, const Limits &limits, int64_t first, int progress) {
  core::Symbols symbols;
  const testing::Declarations declared = usual_declarations();
  const core::NameOf name_of = [&](uint32_t id) { return symbols.name(id); };
  Writer writer({path, limits, false}, name_of, declared.metric_of(name_of));
  for (int64_t window = first; window < first + kWindowsARound; ++window) {
    const int64_t time_ns = kStart + window * kSecond;
    Samples samples(symbols);
    for (int64_t i = 1; i <= kLives; ++i)
      samples.metrics(time_ns, {{"pid", std::to_string(window / 5 * 100 + i)}}).count("flow.sent.bytes", i).count("window", window);
    writer.write(samples.span(), time_ns);
    if (::write(progress, "x", 1) != 1) ::_exit(1);
    writer.maintain(time_ns);
  }
}

TEST_CASE("killed while it makes pools, or makes chunks of them, a store has each sample once") {
  TestStore store;
  std::mt19937 random(77);
  constexpr int64_t kSum = kLives * (kLives + 1) / 2;
  int64_t written = 0, maximum = 0, dissolved = 0, before = 0;
  for (int round = 0; round < 75; ++round) {
    const auto wanted = static_cast<int64_t>(1 + random() % kWindowsARound);
    const Limits limits = round % 25 < 20 ? Limits{} : hasty_rollup();
    const int64_t came =
        run_and_kill([&](int progress) { write_lives(store.path, limits, written, progress); }, wanted, random() % 2'000'000);
    check_sound(store);
    const int64_t sum = sum_of_points(store);
    CHECK(sum % kSum == 0);
    // The batch after the last one that was acknowledged may have been committed.
    CHECK(sum / kSum - written >= came);
    CHECK(sum / kSum - written <= came + 1);
    written = sum / kSum;
    const int64_t pools = store.number("SELECT count(*) FROM chunks WHERE entity < 0");
    dissolved += std::max(before - pools, int64_t{0});
    maximum = std::max(maximum, pools);
    before = pools;
  }
  CHECK(maximum > 0);
  CHECK(dissolved > 0);
}

}  // namespace
}  // namespace atalaya::store::test
