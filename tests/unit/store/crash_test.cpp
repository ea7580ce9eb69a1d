// SPDX-License-Identifier: Apache-2.0
// SIGKILL at any moment: during ingest, packing, roll-ups, retention, migration.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "plugins/shared/store/sql/points_table.h"
#include "tests/unit/store/fixture.h"

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
  std::string error;
  REQUIRE(register_points(database.handle(), error) == SQLITE_OK);
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

// An hour is rolled up after ten minutes, so that there is always something to roll up.
Limits hasty_rollup() {
  return {.rollup = {{600 * kSecond, 10 * kSecond, {}}, {3 * kHour, 60 * kSecond, {}}}};
}

void roll_up_windows(const std::string &path, int64_t first, int progress) {
  core::Symbols symbols;
  Writer writer({path, hasty_rollup(), false}, [&](uint32_t id) { return symbols.name(id); });
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
int64_t sum_of_points(const TestStore &store) {
  Database database(store.path, Access::read_only);
  std::string error;
  REQUIRE(register_points(database.handle(), error) == SQLITE_OK);
  return Statement(database, "SELECT sum(value) FROM points WHERE metric = 'flow.sent.bytes'").number().value_or(0);
}

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

TEST_CASE("an older store that is killed while it is brought up to date and packed loses nothing") {
  std::mt19937 random(4);
  std::ifstream file("tests/fixtures/store/schema-1.sql");
  const std::string script{std::istreambuf_iterator<char>(file), {}};
  for (int round = 0; round < 10; ++round) {
    TestStore store;
    Database(store.path, Access::read_write).execute(script.c_str());
    const auto work = [&](int progress) {
      if (::write(progress, "x", 1) != 1) ::_exit(1);
      Writer writer({store.path, {}, false}, [](uint32_t) { return std::string_view{}; });
      for (int i = 0; i < 40; ++i) writer.write({}, kNow);
      while (writer.maintain(kNow + 2 * kDay)) {
      }
    };
    run_and_kill(work, 1, random() % 20'000'000);
    check_sound(store);
    run_and_kill(work, 2, 0);  // to its end, or nearly
    check_sound(store);
    store.writer();
    const auto values = scan(*open_store(store.path), {{"proc.threads"}, {}, {}});
    REQUIRE(values.size() == 2);
    for (const auto &series : values) {
      CHECK(series.size() == 700);
      CHECK(series.front().count == 11 * 1'000'003);
      CHECK(series.back().count == 710 * 1'000'003);
    }
  }
}

TEST_CASE("a store of schema 2 is killed while its windows are written to once more: each stack is there, once") {
  std::mt19937 random(6);
  std::ifstream file("tests/fixtures/store/schema-2.sql");
  const std::string script{std::istreambuf_iterator<char>(file), {}};
  constexpr int64_t kWindows = 20, kAgain = 1'000'000;
  int64_t killed_in_between = 0;
  for (int round = 0; round < 50; ++round) {
    TestStore store;
    Database(store.path, Access::read_write).execute(script.c_str());
    const auto wanted = static_cast<int64_t>(1 + random() % kWindows);
    const auto work = [&](int progress) {
      core::Symbols symbols;
      Writer writer({store.path, {}, false}, [&](uint32_t id) { return symbols.name(id); });
      for (int64_t i = 1; i <= std::min(wanted + 1, kWindows); ++i) {
        Samples samples(symbols);
        samples
            .add(ATALAYA_STACK, (1'699'999'900 + i * 10) * kSecond, 10 * kSecond,
                 {{"host", "ant"}, {"pid", "4"}, {"process", "java"}, {"profile", "cpu"}}, "main;run")
            .count("profile.samples", kAgain + i);
        writer.write(samples.span(), kNow);
        if (::write(progress, "x", 1) != 1) ::_exit(1);
        writer.maintain(kNow);
      }
      ::pause();
    };
    const int64_t came = run_and_kill(work, wanted, random() % 200'000);
    check_sound(store);
    std::map<std::pair<int64_t, std::string>, int64_t> all;
    int64_t count = 0, again = 0;
    SqliteStore(store.path).stacks({}, [&](const Stack &stack) {
      const int64_t window = (stack.time_ns / kSecond - 1'699'999'900) / 10;
      const int64_t value = stack.fields[0].count;
      all[{window, std::string(stack.folded)}] = value;
      ++count;
      again += value == kAgain + window ? 1 : 0;
      if (window <= came && stack.folded == "main;run") CHECK(value == kAgain + window);
    });
    CHECK(all.size() == 3 * kWindows);
    CHECK(count == 3 * kWindows);
    CHECK(again >= came);
    CHECK(again <= came + 1);
    killed_in_between += again < kWindows ? 1 : 0;
    // Windows are here or there, whole.
    CHECK(store.number("SELECT count(*) FROM old_stacks") == 3 * (kWindows - again));
  }
  CHECK(killed_in_between > 10);
}

}  // namespace
}  // namespace atalaya::store::test
