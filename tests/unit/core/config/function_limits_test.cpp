// SPDX-License-Identifier: Apache-2.0
// Limits of time, memory and additions of inline functions.
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "tests/unit/core/config/inline_function.h"

using namespace atalaya::core;
using config_test::Inline;

TEST_CASE("an endless loop fails the rest of its batch, and the next batch continues") {
  Inline function("function(s) while s.tags.process == 'loop' do pcall(function() while true do end end) end return s end");
  for (const char *process : {"good", "loop", "good"}) function.add(process);
  auto result = function.apply();
  CHECK(result.failed == 2);
  CHECK(result.error == "test.lua:1: stopped after 50ms of computing; is there an endless loop?");
  CHECK(function.batch.count() == 1);
  function.batch.clear();
  function.add("good");
  CHECK(function.apply().failed == 0);
}

TEST_CASE("a function that hoards memory fails, and frees it for the next call") {
  Inline function("function(s) local t = {} while true do t[#t + 1] = #t end end");
  function.add();
  CHECK(function.apply().failed == 1);
  Inline growing("(function() local all = {} return function(s) all[#all + 1] = ('x'):rep(1e6) .. #all return s end end)()");
  uint64_t failed = 0;
  std::string error;
  for (int i = 0; i < 100; ++i) {
    growing.batch.clear();
    growing.add();
    const auto result = growing.apply();
    failed += result.failed;
    if (result.failed > 0) error = result.error;
  }
  CHECK(failed > 20);
  CHECK(error == "test.lua:1: more memory than a pipeline file may use: 64 MiB in all, 1 MiB in one string");
}

// The memory of the additions, touched before: the kernel's time for new pages would count as the function's.
void warm_up(Batch &batch) {
  constexpr size_t kPiece = size_t{1} << 20;
  for (int i = 0; i < 20; ++i) std::memset(batch.arena().allocate(kPiece, 8), 1, kPiece);
  batch.clear();
}

constexpr char kAddsTooMuch[] =
    "test.lua:1: more than a function may add to a batch: 16 MiB, and 4 KiB for each of its samples; set shorter texts";

TEST_CASE("additions of a function to a batch are limited, and the next batch has the whole limit") {
  for (const std::string endless : {"for i = 1, 1e9 do s.tags.x = big end", "for i = 1, 1e9 do s.text = big end"}) {
    CAPTURE(endless);
    Inline function("(function() local big = ('x'):rep(1e6) return function(s) if s.tags.process == 'bad' then " + endless +
                    " end s.text = 'fine' return s end end)()");
    warm_up(function.batch);
    for (const char *process : {"good", "bad", "bad"}) function.add(process);
    const size_t before = function.batch.used_bytes();
    const auto result = function.apply();
    CHECK(result.failed == 2);
    CHECK(result.error == kAddsTooMuch);
    CHECK(function.batch.used_bytes() > before + 15'000'000);
    CHECK(function.batch.used_bytes() <= before + (size_t{16} << 20) + 3 * (size_t{4} << 10));
    function.batch.clear();
    function.add("good");
    CHECK(function.apply().failed == 0);
  }
}

TEST_CASE("copies of arrays count toward the limit of additions to a batch") {
  Inline function("function(s) s.tags.process = 'x' return s end");
  auto &first = function.add();
  function.batch.reserve(first, 60'000, 0);
  while (first.tag_count < 60'000) function.batch.add_tag(first, first.tag_count, "");
  first.capacity = 0;
  const atalaya_sample shared = first;
  constexpr size_t kArray = 60'000 * sizeof(atalaya_tag);
  constexpr uint64_t kFit = (size_t{16} << 20) / kArray;
  for (uint64_t i = 0; i < kFit; ++i) function.batch.add_sample(ATALAYA_METRICS) = shared;
  const auto result = function.apply();
  CHECK(result.failed == 1);
  CHECK(result.error == kAddsTooMuch);
  CHECK(function.batch.count() == kFit);
}

TEST_CASE("functions may add more to a batch of more samples") {
  Inline function("(function() local text = ('x'):rep(87000) return function(s) s.text = text return s end end)()");
  warm_up(function.batch);
  for (int i = 0; i < 200; ++i) function.add();
  const size_t before = function.batch.used_bytes();
  CHECK(function.apply().error == "");
  CHECK(function.batch.used_bytes() == before + size_t{200} * 87000);
}

TEST_CASE("a function that ignores the limit of additions still ends") {
  Inline function("function(s) local big = ('x'):rep(1e6) while true do pcall(function() s.tags.x = big end) end end");
  function.add();
  const size_t before = function.batch.used_bytes();
  CHECK(function.apply().error == "test.lua:1: stopped after 50ms of computing; is there an endless loop?");
  CHECK(function.batch.used_bytes() <= before + (size_t{16} << 20) + (size_t{4} << 10));
}
