// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>

#include "core/base/sample/arena.h"
#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"

using namespace atalaya::core;

TEST_CASE("arena: pieces are aligned, apart from each other, and of any size") {
  Arena arena;
  std::vector<std::pair<unsigned char *, size_t>> pieces;
  for (size_t i = 0; i < 2000; ++i) {
    const size_t size = i % 97 == 0 ? 200'000 : i % 131;
    const size_t alignment = size_t{1} << i % 7;
    auto *piece = static_cast<unsigned char *>(arena.allocate(size, alignment));
    CHECK(reinterpret_cast<uintptr_t>(piece) % alignment == 0);
    std::memset(piece, static_cast<int>(i % 251), size);
    pieces.emplace_back(piece, size);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto [piece, size] = pieces[i];
    for (size_t at = 0; at < size; at += 61) REQUIRE(piece[at] == i % 251);
  }
}

TEST_CASE("arena: reset keeps the memory, trim releases unused memory") {
  Arena arena;
  for (int i = 0; i < 100; ++i) arena.allocate(50'000);
  const size_t reserved = arena.reserved();
  arena.reset();
  CHECK(arena.used() == 0);
  for (int i = 0; i < 100; ++i) arena.allocate(50'000);
  CHECK(arena.reserved() == reserved);
  arena.trim();
  CHECK(arena.reserved() == reserved);
  arena.reset();
  arena.allocate(8);
  arena.trim();
  CHECK(arena.reserved() == 0);
  CHECK(arena.allocate(8) != nullptr);
}

TEST_CASE("batch: samples, tags and fields grow and stay the same") {
  Batch batch;
  for (int n = 0; n < 100; ++n) {
    atalaya_sample &sample = batch.add_sample(ATALAYA_METRICS);
    sample.time_ns = n;
    for (uint32_t t = 0; t < 9; ++t) batch.add_tag(sample, t, std::to_string(n) + "/" + std::to_string(t));
    for (uint32_t f = 0; f < 20; ++f) batch.add_field(sample, {f, ATALAYA_I64, {}});
  }
  REQUIRE(batch.count() == 100);
  CHECK(batch.raw().arena == &batch);
  for (int n = 0; n < 100; ++n) {
    const atalaya_sample &sample = batch.raw().samples[n];
    CHECK(sample.time_ns == n);
    REQUIRE(sample.tag_count == 9);
    CHECK(view_of(sample.tags[8].value) == std::to_string(n) + "/8");
    REQUIRE(sample.field_count == 20);
    CHECK(sample.fields[19].name == 19);
  }
}

TEST_CASE("batch: append copies deeply") {
  Batch copy;
  {
    Batch original;
    atalaya_sample &sample = original.add_sample(ATALAYA_STACK);
    sample.text = original.copy("main;read");
    original.add_tag(sample, 1, "value");
    original.add_field(sample, {2, ATALAYA_I64, {}});
    copy.append(original.raw());
  }
  REQUIRE(copy.count() == 1);
  const atalaya_sample &sample = copy.raw().samples[0];
  CHECK(view_of(sample.text) == "main;read");
  CHECK(view_of(sample.tags[0].value) == "value");
  CHECK(sample.fields[0].name == 2);
}

TEST_CASE("batch: samples that a stage put elsewhere are kept when more are added") {
  Batch batch;
  batch.add_sample(ATALAYA_METRICS).time_ns = 1;
  auto *mine = static_cast<atalaya_sample *>(batch.arena().allocate(2 * sizeof(atalaya_sample), 8));
  mine[0] = batch.raw().samples[0];
  mine[1] = batch.raw().samples[0];
  mine[1].time_ns = 2;
  batch.raw().samples = mine;
  batch.raw().count = 2;
  batch.add_sample(ATALAYA_METRICS).time_ns = 3;
  REQUIRE(batch.count() == 3);
  CHECK(batch.raw().samples[1].time_ns == 2);
  CHECK(batch.raw().samples[2].time_ns == 3);
}

TEST_CASE("batch: more than 65535 tags are refused") {
  Batch batch;
  atalaya_sample &sample = batch.add_sample(ATALAYA_METRICS);
  CHECK_THROWS_AS(batch.reserve(sample, 65536, 0), std::length_error);
  CHECK_THROWS_AS(batch.reserve(sample, 0, 65536), std::length_error);
}

TEST_CASE("symbols: the same id for the same name, 0 for an invalid name") {
  Symbols symbols;
  const uint32_t id = symbols.intern("proc.cpu.user");
  CHECK(id != 0);
  CHECK(symbols.intern(std::string("proc.cpu.") + "user") == id);
  CHECK(symbols.name(id) == "proc.cpu.user");
  CHECK(symbols.intern("") == 0);
  CHECK(symbols.intern(std::string(Symbols::kMaxNameSize + 1, 'x')) == 0);
  CHECK(symbols.name(0).empty());
  CHECK(symbols.name(id + 1).empty());
  CHECK(symbols.size() == 1);
}

TEST_CASE("symbols: a full table refuses new names and keeps the old ones") {
  Symbols symbols;
  for (uint32_t i = 0; i < Symbols::kMaxNames; ++i) REQUIRE(symbols.intern(std::to_string(i)) == i + 1);
  CHECK(symbols.intern("one more") == 0);
  CHECK(symbols.intern("77") == 78);
  CHECK(symbols.name(Symbols::kMaxNames) == std::to_string(Symbols::kMaxNames - 1));
}

TEST_CASE("pool: batches of a burst lose their memory when later windows do not need them") {
  const auto pool = BatchPool::make();
  const auto take_with_memory = [&](size_t count) {
    std::vector<BatchOwner> taken;
    for (size_t i = 0; i < count; ++i) taken.push_back(pool->take());
    const auto held = std::count_if(taken.begin(), taken.end(), [](const BatchOwner &batch) { return batch->held_bytes() > 0; });
    for (BatchOwner &batch : taken) {
      batch->arena().allocate(100'000);
      pool->return_batch(std::move(batch));
    }
    return held;
  };
  CHECK(take_with_memory(10) == 0);
  CHECK(take_with_memory(10) == 10);
  for (int window = 0; window < 200; ++window) CHECK(take_with_memory(2) == 2);
  CHECK(take_with_memory(10) == 2);
}
