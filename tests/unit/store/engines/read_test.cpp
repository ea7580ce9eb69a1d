// SPDX-License-Identifier: Apache-2.0
// How the embedded store is opened, and read while it is written; engines_test.cpp tests the responses of all engines.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "plugins/shared/store/location.h"
#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

TEST_CASE("twenty readers and a writer that packs and deletes: no call fails, and each sees whole batches") {
  TestStore store;
  Writer writer = store.writer({.retain_ns = 2000 * kSecond});
  const int64_t start = kNow - kNow % kHour;
  const auto write = [&](int64_t second) {
    auto samples = store.samples();
    for (int i = 0; i < 4; ++i) samples.metrics(start + second * kSecond, {{"pid", std::to_string(i)}}).real("a", 1);
    writer.write(samples.span(), start + second * kSecond);
    writer.maintain(start + second * kSecond);
  };
  write(1);
  std::atomic<bool> stop = false;
  std::atomic<int> failures = 0, calls = 0;
  std::vector<std::thread> readers;
  readers.reserve(20);
  for (int i = 0; i < 20; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        try {
          const auto all = scan(*open_store(store.path), {{"a"}, {}, {}});
          for (const auto &series : all) failures += series.size() != all.front().size() ? 1 : 0;
          ++calls;
        } catch (const std::exception &) {
          ++failures;
        }
      }
    });
  }
  for (int64_t second = 2; second <= 3000 || calls < 40; second += 2) write(second);
  stop = true;
  for (std::thread &reader : readers) reader.join();
  CHECK(failures == 0);
  CHECK(store.number("SELECT count(*) FROM chunks") > 0);
}

TEST_CASE("\"sqlite:\" without a path is the default store, on the command line and in the environment") {
  const TestStore store;
  REQUIRE(::setenv("ATALAYA_STORE", store.path.c_str(), 1) == 0);
  for (const char *text : {"", "sqlite:"}) CHECK(store_of(text) == store.path);
  REQUIRE(::setenv("ATALAYA_STORE", ("sqlite:" + store.path).c_str(), 1) == 0);
  for (const char *text : {"", "sqlite:"}) CHECK(store_of(text) == store.path);
  REQUIRE(::setenv("ATALAYA_STORE", "sqlite:", 1) == 0);
  CHECK(store_of("").ends_with("/atalaya.db"));
  REQUIRE(::setenv("ATALAYA_STORE", "clickhouse:http://h/d", 1) == 0);
  CHECK(store_of("sqlite:") == "clickhouse:http://h/d");
  CHECK(store_of("sqlite:x") == "x");
  REQUIRE(::unsetenv("ATALAYA_STORE") == 0);
}

TEST_CASE("a store is opened by its path, with the engine's name or without") {
  TestStore store;
  store.writer();
  CHECK(open_store(store.path)->name() == "sqlite:" + store.path);
  CHECK(open_store("sqlite:" + store.path)->name() == "sqlite:" + store.path);
  CHECK_THROWS_WITH_AS(open_store("clickhouse:http://127.0.0.1:1/atalaya"),
                       "clickhouse:http://127.0.0.1:1/atalaya: Connection refused", Error);
}

}  // namespace
}  // namespace atalaya::store::test
