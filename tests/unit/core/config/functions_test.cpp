// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/core/config/inline_function.h"

using namespace atalaya::core;
using config_test::Inline;

namespace {

std::string error_of(const std::string &code) {
  Inline function(code);
  auto &sample = function.add();
  function.field(sample, "proc.cpu.user", 1.5);
  return function.apply().error;
}

}  // namespace

TEST_CASE("a function keeps the samples it returns and drops the rest") {
  Inline function("function(s) if s.tags.process == 'backup' then return nil end return s end");
  for (const char *process : {"java", "backup", "python", "backup", "bash"}) function.add(process);
  const auto result = function.apply();
  CHECK(result.dropped == 2);
  CHECK(result.failed == 0);
  REQUIRE(function.batch.count() == 3);
  CHECK(function.tag(function.batch.raw().samples[1], "process") == "python");
  CHECK(function.tag(function.batch.raw().samples[2], "process") == "bash");
  CHECK(Inline("function(s) return false end").apply().failed == 0);
}

TEST_CASE("tags and fields are read, set, added and removed") {
  Inline function(R"(function(s)
    s.tags.team = "data"
    s.tags.process = s.tags.process .. "!"
    s.tags.gone = nil
    s.tags.user = nil
    s.fields["proc.cpu"] = s.fields["proc.cpu.user"] + s.fields["proc.cpu.kernel"]
    s.fields["proc.cpu.user"] = nil
    s.fields["proc.threads"] = s.fields["proc.threads"] + 1
    s.text = s.text .. s.kind
    s.time = s.time + 1
    s.duration = 0
    return s
  end)");
  auto &sample = function.add();
  function.batch.add_tag(sample, function.id("user"), "root");
  function.field(sample, "proc.cpu.user", 1.5);
  function.field(sample, "proc.cpu.kernel", 2.25);
  function.field(sample, "proc.threads", int64_t{9'007'199'254'740'993});
  const auto result = function.apply();
  CHECK(result.error == "");
  REQUIRE(function.batch.count() == 1);
  const auto &after = function.batch.raw().samples[0];
  CHECK(after.tag_count == 2);
  CHECK(function.tag(after, "process") == "java!");
  CHECK(function.tag(after, "team") == "data");
  CHECK(after.field_count == 3);
  CHECK(function.find(after, "proc.cpu")->value.f64 == 3.75);
  CHECK(function.find(after, "proc.cpu")->type == ATALAYA_F64);
  CHECK(function.find(after, "proc.threads")->value.i64 == 9'007'199'254'740'994);
  CHECK(function.find(after, "proc.threads")->type == ATALAYA_I64);
  CHECK(view_of(after.text) == "metrics");
  CHECK(after.time_ns == 1'795'219'532'123'456'790);
  CHECK(after.duration_ns == 0);
}

TEST_CASE("a function reads the unit and the kind of a declared metric") {
  Inline function(R"(function(s)
    s.tags.unit = s:unit("proc.cpu.user")
    s.tags.kind = s:metric_kind("proc.cpu.user")
    s.tags.absent = s:unit("not.in.the.sample")
    s.tags.none = tostring(s:unit("proc.threads")) .. tostring(s:metric_kind("nobody.interned.it"))
    return s
  end)");
  function.declare("proc.cpu.user", ATALAYA_RATE, "%");
  function.declare("not.in.the.sample", ATALAYA_TOTAL, "MiBy");
  auto &sample = function.add();
  function.field(sample, "proc.cpu.user", 1.5);
  function.field(sample, "proc.threads", 2.0);
  const auto result = function.apply();
  CHECK(result.error == "");
  const auto &after = function.batch.raw().samples[0];
  CHECK(function.tag(after, "unit") == "%");
  CHECK(function.tag(after, "kind") == "rate");
  CHECK(function.tag(after, "absent") == "MiBy");
  CHECK(function.tag(after, "none") == "nilnil");
  CHECK(error_of("function(s) return s:unit() end").find("the name of a metric is a string, got a no value") != std::string::npos);
  CHECK(error_of("function(s) return s.unit('x') end").find("with a colon") != std::string::npos);
}

TEST_CASE("values pass through a function bit by bit") {
  Inline function("function(s) for k, v in pairs(s.fields) do s.fields[k] = v end s.time = s.time return s end");
  std::mt19937_64 random(3);
  std::vector<uint64_t> bits = {std::bit_cast<uint64_t>(std::nan("")),
                                std::bit_cast<uint64_t>(-0.0),
                                std::bit_cast<uint64_t>(std::numeric_limits<double>::infinity()),
                                std::bit_cast<uint64_t>(std::numeric_limits<double>::denorm_min()),
                                static_cast<uint64_t>(INT64_MIN),
                                static_cast<uint64_t>(INT64_MAX),
                                (uint64_t{1} << 53) + 1};
  while (bits.size() < 100) bits.push_back(random());
  auto &sample = function.add();
  for (size_t i = 0; i < bits.size(); ++i) {
    function.field(sample, "f" + std::to_string(i), std::bit_cast<double>(bits[i]));
    function.field(sample, "i" + std::to_string(i), static_cast<int64_t>(bits[i]));
  }
  REQUIRE(function.apply().failed == 0);
  const auto &after = function.batch.raw().samples[0];
  CHECK(after.time_ns == 1'795'219'532'123'456'789);
  REQUIRE(after.field_count == 2 * bits.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    CHECK(std::bit_cast<uint64_t>(function.find(after, "f" + std::to_string(i))->value.f64) == bits[i]);
    CHECK(static_cast<uint64_t>(function.find(after, "i" + std::to_string(i))->value.i64) == bits[i]);
  }
}

TEST_CASE("pairs visits everything once, also when the current one is removed") {
  Inline function(R"(function(s)
    local seen = ""
    for key, value in pairs(s.tags) do
      seen = seen .. key .. "=" .. value .. ";"
      if key ~= "d" then s.tags[key] = nil end
    end
    s.text = seen
    return s
  end)");
  auto &sample = function.add();
  for (const char *key : {"a", "b", "c", "d", "e"}) function.batch.add_tag(sample, function.id(key), key);
  REQUIRE(function.apply().error == "");
  const auto &after = function.batch.raw().samples[0];
  CHECK(view_of(after.text) == "process=java;a=a;b=b;c=c;d=d;e=e;");
  CHECK(after.tag_count == 1);
  CHECK(function.tag(after, "d") == "d");
}

TEST_CASE("arrays that samples share are copied before a change") {
  Inline function("function(s) s.tags.process = 'x' s.fields.n = 2 return s end");
  auto &first = function.add();
  function.field(first, "n", int64_t{1});
  atalaya_sample shared = first;
  shared.capacity = 0;
  auto &second = function.batch.add_sample(ATALAYA_METRICS);
  second = shared;
  atalaya_sample before = function.batch.raw().samples[0];
  before.capacity = 0;
  function.batch.raw().samples[0] = before;
  REQUIRE(function.apply().failed == 0);
  CHECK(function.batch.raw().samples[0].tags != function.batch.raw().samples[1].tags);
  CHECK(view_of(shared.tags[0].value) == "java");
  CHECK(shared.fields[0].value.i64 == 1);
}

TEST_CASE("an array that samples share is copied before a change, also when the other one is the sample's own") {
  Inline function("function(s) if s.time == 1 then s.tags.process = 'x' s.fields.n = 2 end return s end");
  for (const bool tags_shared : {true, false}) {
    CAPTURE(tags_shared);
    function.batch.clear();
    for (int i = 0; i < 2; ++i) function.field(function.add(), "n", int64_t{1});
    atalaya_sample &changed = function.batch.raw().samples[0];
    atalaya_sample &other = function.batch.raw().samples[1];
    changed.time_ns = 1;
    if (tags_shared) {
      changed.tags = other.tags;
      changed.capacity &= 0xffff0000u;
    } else {
      changed.fields = other.fields;
      changed.capacity &= 0x0000ffffu;
    }
    REQUIRE(function.apply().error == "");
    CHECK(function.tag(changed, "process") == "x");
    CHECK(function.find(changed, "n")->value.i64 == 2);
    CHECK(function.tag(other, "process") == "java");
    CHECK(function.find(other, "n")->value.i64 == 1);
  }
}

TEST_CASE("a sample that is kept after its call raises") {
  Inline function(R"((function()
    local kept
    return function(s)
      if kept then local t = kept.tags.process end
      kept = s
      return s
    end
  end)())");
  function.add("one");
  function.add("two");
  auto result = function.apply();
  CHECK(result.failed == 1);
  CHECK(result.error == "test.lua:4: this sample was kept after its call; copy its values into variables");

  Inline tags("(function() local kept return function(s) kept = kept or s.tags return s, kept.process end end)()");
  tags.add();
  tags.add();
  CHECK(tags.apply().failed == 1);
}

// More names than ids are remembered; names that were built and freed leave their addresses to others. A batch has few samples, so
// that its calls stay far below their common limit of 50 ms with sanitizers too.
TEST_CASE("a name finds its own field and tag, whichever names came before") {
  constexpr int kNames = 1100, kSamples = 2;
  Inline function(R"((function()
    local prefixes = { "n", ("a long name that is not interned by Lua "):rep(2) }
    local seed = 1
    return function(s)
      local wrong = 0
      for i = 1, 10 do
        seed = seed * 48271 % 2147483647
        local number = seed % 1100
        local name = prefixes[i % 2 + 1] .. number
        if s.fields[name] ~= number then wrong = wrong + 1 end
        if s.tags[name] ~= "t" .. number then wrong = wrong + 1 end
        if s.fields["no" .. number] ~= nil then wrong = wrong + 1 end
      end
      s.fields.wrong = wrong
      return s
    end
  end)())");
  const std::string part = "a long name that is not interned by Lua ";
  for (int i = 0; i < kSamples; ++i) {
    auto &sample = function.add();
    for (int64_t n = 0; n < kNames; ++n)
      for (const std::string &name : {"n" + std::to_string(n), part + part + std::to_string(n)}) {
        function.field(sample, name, n);
        function.batch.add_tag(sample, function.id(name), "t" + std::to_string(n));
      }
  }
  for (int round = 0; round < 1500; ++round) {
    const auto result = function.apply();
    REQUIRE(result.error == "");
    REQUIRE(function.batch.count() == kSamples);
    for (uint64_t i = 0; i < kSamples; ++i) {
      const atalaya_field *wrong = function.find(function.batch.raw().samples[i], "wrong");
      REQUIRE(wrong != nullptr);
      CHECK(wrong->value.i64 == 0);
    }
  }
}

TEST_CASE("an error is reported with its line; the sample is dropped, or passes unchanged") {
  CHECK(error_of("function(s)\n  return s.fields['proc.cpu.user'] > s.fields.missing\nend") ==
        "test.lua:2: attempt to compare nil with number");
  CHECK(error_of("function(s) return {} end") ==
        "test.lua:1: the function returned a table; return the sample to keep it, nil to drop it");
  CHECK(error_of("function(s) return s.tags end") ==
        "test.lua:1: the function returned a userdata; return the sample to keep it, nil to drop it");
  CHECK(error_of("function(s) return s.tgas.x end") ==
        "test.lua:1: a sample has no \"tgas\"; it has tags, fields, time, duration, kind, text, unit() and metric_kind()");
  CHECK(error_of("function(s) s.tags.n = 5 return s end") ==
        "test.lua:1: tag \"n\" is a string, got a number; tostring() makes one");
  CHECK(error_of("function(s) s.fields.n = '5' return s end") == "test.lua:1: field \"n\" is a number, got a string");
  CHECK(error_of("function(s)\n  s.fields.n = 0 / 0\n  return s\nend") ==
        "test.lua:2: field \"n\" cannot be NaN, the result of a division by zero or the like; nil removes the field");
  CHECK(error_of("function(s) s.fields['proc.cpu.user'] = -1 / 0 return s end") ==
        "test.lua:1: field \"proc.cpu.user\" cannot be infinite, the result of a division by zero or the like; nil removes the "
        "field");
  CHECK(error_of("function(s) s.time = s.time / 2 return s end") ==
        "test.lua:1: time is a whole number of nanoseconds, got a number with a fraction; compute with whole numbers, and with // "
        "for /");
  CHECK(error_of("function(s) s.tags = {} return s end") ==
        "test.lua:1: tags cannot be replaced; set single ones: s.tags.name = value");
  CHECK(error_of("function(s) s.tags[''] = 'x' return s end") ==
        "test.lua:1: \"\" cannot be a name: it is empty or too long, or there are too many names");
  CHECK(error_of("function(s) return s.tags[5] end") == "test.lua:1: the name of a tag is a string, got a number");
  CHECK(error_of("function(s) return nosuch(s) end") == "test.lua:1: unknown name \"nosuch\"");

  Inline function("function(s) if s.tags.process == 'bad' then error('no') end return s end");
  for (const char *process : {"good", "bad", "good"}) function.add(process);
  auto result = function.apply(true);
  CHECK(result.failed == 1);
  CHECK(function.batch.count() == 3);
  result = function.apply(false);
  CHECK(result.failed == 1);
  CHECK(function.batch.count() == 2);
}

TEST_CASE("names that are only looked up are not created") {
  Inline function("function(s) for i = 1, 100 do local x = s.tags['tag' .. i], s.fields['field' .. i] end return s end");
  function.add();
  const uint32_t before = function.id("marker");
  REQUIRE(function.apply().failed == 0);
  CHECK(function.id("another") == before + 1);
}
