// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <string>

#include "tests/unit/store/fixture.h"

namespace atalaya::store::test {
namespace {

constexpr int kSamples = 50;

// Writes windows until it is killed; a byte for each that was acknowledged. Retention runs too.
[[noreturn]] void write_for_ever(const std::string &path, int64_t first_window, int progress) {
  core::Symbols symbols;
  Writer writer({path, {.retain_ns = kHour}, false}, [&](uint32_t id) { return symbols.name(id); });
  for (int64_t window = first_window;; ++window) {
    Samples samples(symbols);
    for (int i = 0; i < kSamples; ++i)
      samples.metrics(kNow + window, {{"pid", std::to_string(window % 7 * 1000 + i)}}).real("a", i).count("window", window);
    writer.write(samples.span(), kNow + window);
    if (::write(progress, "x", 1) != 1) ::_exit(1);
    writer.maintain(kNow + window);
  }
}

TEST_CASE("after SIGKILL at any moment the database is sound and holds everything that was acknowledged") {
  TestStore store;
  std::mt19937 random(20'11);
  int64_t windows = 0;  // acknowledged, at least
  for (int round = 0; round < 20; ++round) {
    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    const int64_t first = windows + int64_t{1'000'000} * round;
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(pipe[0]);
      write_for_ever(store.path, first, pipe[1]);
    }
    ::close(pipe[1]);
    int64_t acknowledged = 0;
    char byte = 0;
    for (auto wanted = static_cast<int64_t>(1 + random() % 12); acknowledged < wanted && ::read(pipe[0], &byte, 1) == 1;)
      ++acknowledged;
    for (volatile auto spin = random() % 2'000'000; spin > 0;) spin = spin - 1;  // into the middle of the next window
    ::kill(child, SIGKILL);
    while (::read(pipe[0], &byte, 1) == 1) ++acknowledged;
    ::close(pipe[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(acknowledged > 0);

    CHECK(store.sql("PRAGMA integrity_check") == std::vector<std::string>{"ok"});
    Database database(store.path, Access::read_only);
    Statement points(database, "SELECT count(*) FROM points WHERE metric = 'window' AND value BETWEEN ?1 AND ?2");
    CHECK(points.number(first, first + acknowledged - 1).value_or(0) == acknowledged * kSamples);
    // Whole windows only.
    CHECK(database.number("SELECT count(*) FROM samples") % kSamples == 0);
    windows += acknowledged;
  }
  CHECK(store.point_count() >= windows * kSamples * 2);
}

}  // namespace
}  // namespace atalaya::store::test
