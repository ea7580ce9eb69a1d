// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"

using namespace atalaya::core;

namespace {

constexpr size_t kThreads = 4;

template <class F>
void together(F &&body) {
  std::latch go(kThreads);
  std::vector<std::thread> threads;
  for (size_t n = 0; n < kThreads; ++n) {
    threads.emplace_back([&, n] {
      go.arrive_and_wait();
      body(n);
    });
  }
  for (std::thread &thread : threads) thread.join();
}

}  // namespace

TEST_CASE("symbols: all threads get the same ids and can read each at once") {
  constexpr size_t kNames = 5000;
  Symbols symbols;
  std::array<std::vector<uint32_t>, kThreads> ids;
  std::atomic<int> wrong = 0;
  together([&](size_t n) {
    ids[n].resize(kNames);
    for (size_t i = 0; i < kNames; ++i) {
      const size_t which = (i + n * 1237) % kNames;  // each in another order
      const std::string name = "name" + std::to_string(which);
      ids[n][which] = symbols.intern(name);
      if (symbols.name(ids[n][which]) != name) ++wrong;
      if (const uint32_t newest = symbols.size(); symbols.name(newest).empty()) ++wrong;
    }
  });
  CHECK(wrong == 0);
  CHECK(symbols.size() == kNames);
  for (size_t n = 1; n < kThreads; ++n) CHECK(ids[n] == ids[0]);
}

TEST_CASE("catalogue: all threads find the one that was first") {
  constexpr uint32_t kMetrics = 2000;
  Catalogue catalogue;
  std::atomic<int> wrong = 0;
  std::atomic<uint32_t> added = 0;
  together([&](size_t n) {
    for (uint32_t i = 0; i < kMetrics; ++i) {
      const uint32_t id = (i + static_cast<uint32_t>(n) * 501) % kMetrics + 1;
      const auto decimals = static_cast<int32_t>(n);
      if (catalogue.declare(id, {sizeof(atalaya_metric_info), ATALAYA_GAUGE, decimals, 0, {"By", 2}, {"A summary.", 10}, {}}) ==
          Catalogue::Outcome::added)
        ++added;
      const atalaya_metric_info *found = catalogue.find(id);
      if (found == nullptr || view_of(found->unit) != "By" || view_of(found->summary) != "A summary.") ++wrong;
      if (found != catalogue.find(id)) ++wrong;
    }
  });
  CHECK(wrong == 0);
  CHECK(added == kMetrics);
  CHECK(catalogue.size() == kMetrics);
}

TEST_CASE("pool: a frozen batch is read by several threads and comes back once") {
  auto pool = BatchPool::make();
  for (int round = 0; round < 50; ++round) {
    BatchOwner batch = pool->take();
    const Batch *address = batch.get();
    batch->add_sample(ATALAYA_METRICS).time_ns = round;
    BatchRef shared = pool->freeze(std::move(batch));
    std::array<BatchRef, kThreads> refs;
    refs.fill(shared);
    shared.reset();
    std::atomic<int> seen = 0;
    together([&](size_t n) {
      if (refs[n]->raw().samples[0].time_ns == round) ++seen;
      refs[n].reset();
    });
    CHECK(seen == kThreads);
    BatchOwner again = pool->take();
    CHECK(again.get() == address);
    CHECK(again->count() == 0);
    pool->return_batch(std::move(again));
  }
}

TEST_CASE("pool: a batch may outlive the last other holder of its pool") {
  auto pool = BatchPool::make();
  BatchRef batch = pool->freeze(pool->take());
  const std::weak_ptr<BatchPool> watch = pool;
  pool.reset();
  CHECK(!watch.expired());
  batch.reset();
  CHECK(watch.expired());
}
