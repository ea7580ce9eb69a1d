// SPDX-License-Identifier: Apache-2.0
#include "core/base/sample/catalogue.h"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "core/base/text/ucum.h"

using namespace atalaya::core;

namespace {

atalaya_str text(std::string_view view) {
  return {view.data(), view.size()};
}

atalaya_metric_info info(uint32_t kind, int32_t decimals, std::string_view unit, std::string_view summary = {}) {
  return {sizeof(atalaya_metric_info), kind, decimals, 0, text(unit), text(summary), {nullptr, 0}};
}

using Outcome = Catalogue::Outcome;

}  // namespace

TEST_CASE("units of UCUM are accepted, others are not") {
  for (const char *unit :
       {"1",        "%",       "By",         "kBy",      "MiBy", "MiBy/s",  "Mibit/s", "By/s", "s",      "ms",
        "ns",       "us",      "Hz",         "MHz",      "W",    "J",       "Cel",     "1/s",  "/s",     "s/s",
        "{sample}", "1{task}", "{packet}/s", "By/{job}", "10*3", "m2",      "m/s2",    "s-1",  "[degF]", "(By.s)/1",
        "mV",       "d",       "min",        "%{core}",  "kW.h", "{a}.{b}", "10^-3/s"})
    CHECK_MESSAGE(is_ucum(unit), unit);
  for (const char *unit : {"",   "B",     "B/s",  "bytes", "MB/s", "MiB", "count",         "KiBy/",   "/",     "//s",   "sec", "{",
                           "{}", "{a b}", "By s", "%%",    "Kis",  "s-",  "((((((s))))))", "percent", "tasks", "Mib/s", "º"})
    CHECK_MESSAGE(!is_ucum(unit), unit);
  CHECK(!is_ucum("{" + std::string(70, 'x') + "}"));
}

TEST_CASE("the first declaration of a metric holds") {
  Symbols symbols;
  CHECK(symbols.metric(1) == nullptr);
  CHECK(symbols.declare("a", info(ATALAYA_DELTA, -1, "By", "Bytes."), "one") == Outcome::added);
  const uint32_t id = symbols.intern("a");
  const atalaya_metric_info *found = symbols.metric(id);
  REQUIRE(found != nullptr);
  CHECK(found->kind == ATALAYA_DELTA);
  CHECK(found->decimals == -1);
  CHECK(view_of(found->unit) == "By");
  CHECK(view_of(found->summary) == "Bytes.");
  CHECK(symbols.declare("a", info(ATALAYA_DELTA, -1, "By", "Another summary."), "two") == Outcome::same);
  CHECK(symbols.declare("a", info(ATALAYA_TOTAL, -1, "By"), "two") == Outcome::conflict);
  CHECK(symbols.declare("a", info(ATALAYA_DELTA, 0, "By"), "two") == Outcome::conflict);
  CHECK(symbols.declare("a", info(ATALAYA_DELTA, -1, "bit"), "two") == Outcome::conflict);
  CHECK(symbols.metric(id) == found);
  CHECK(view_of(found->summary) == "Bytes.");
  CHECK(symbols.catalogue().conflicts() == 3);
  CHECK(symbols.catalogue().size() == 1);
}

TEST_CASE("random declarations: the first of each metric holds, the others agree or conflict") {
  static constexpr const char *kUnits[] = {"By", "s", "1", "%"};
  const auto words = [](const atalaya_metric_info &one) {
    return std::to_string(one.kind) + "|" + std::to_string(one.decimals) + "|" + std::string(view_of(one.unit));
  };
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Catalogue catalogue;
    std::map<uint32_t, std::string> first;  // by id: what the oracle expects
    uint64_t conflicts = 0;
    for (int i = 0; i < 500; ++i) {
      const auto id = static_cast<uint32_t>(1 + random() % 40);
      const auto kind = static_cast<uint32_t>(ATALAYA_GAUGE + random() % 4);
      const auto declared = info(kind, static_cast<int32_t>(random() % 3), kUnits[random() % 4]);
      const auto [known, added] = first.emplace(id, words(declared));
      const bool same = known->second == words(declared);
      conflicts += same ? 0 : 1;
      REQUIRE(catalogue.declare(id, declared) == (added ? Outcome::added : same ? Outcome::same : Outcome::conflict));
    }
    for (const auto &[id, expected] : first) {
      REQUIRE(catalogue.find(id) != nullptr);
      CHECK(words(*catalogue.find(id)) == expected);
    }
    CHECK(catalogue.conflicts() == conflicts);
    CHECK(catalogue.size() == first.size());
  }
}

TEST_CASE("invalid declarations are refused") {
  Symbols symbols;
  CHECK(symbols.declare("", info(ATALAYA_GAUGE, 0, "1"), "x") == Outcome::invalid);
  CHECK(symbols.declare("a", info(0, 0, "1"), "x") == Outcome::invalid);
  CHECK(symbols.declare("a", info(5, 0, "1"), "x") == Outcome::invalid);
  CHECK(symbols.declare("a", info(ATALAYA_GAUGE, 10, "1"), "x") == Outcome::invalid);
  CHECK(symbols.declare("a", info(ATALAYA_GAUGE, -2, "1"), "x") == Outcome::invalid);
  CHECK(symbols.declare("a", info(ATALAYA_GAUGE, 0, "bytes"), "x") == Outcome::invalid);
  CHECK(symbols.size() == 0);  // nothing was interned for them
}

TEST_CASE("the catalogue's memory is bounded, and long texts are cut between characters") {
  Catalogue catalogue(size_t{64} << 10);
  const std::string sentence = "x" + std::string(600, '\xc3');
  std::string umlauts = "x";
  for (int i = 0; i < 400; ++i) umlauts += "\xc3\xbc";
  CHECK(catalogue.declare(1, info(ATALAYA_GAUGE, 0, "1", umlauts)) == Outcome::added);
  CHECK(catalogue.find(1)->summary.size == 511);
  uint32_t id = 2;
  while (catalogue.declare(id, info(ATALAYA_GAUGE, 0, "1", sentence)) == Outcome::added) ++id;
  CHECK(id > 20);
  CHECK(catalogue.declare(id, info(ATALAYA_GAUGE, 0, "1", sentence)) == Outcome::full);
  CHECK(catalogue.find(id) == nullptr);
  CHECK(catalogue.bytes() <= size_t{64} << 10);
  CHECK(catalogue.find(UINT32_MAX) == nullptr);
  CHECK(catalogue.declare(UINT32_MAX, info(ATALAYA_GAUGE, 0, "1")) == Outcome::invalid);
}
