// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/database.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace atalaya::phases {
namespace {

KnownPhase phase(Symbols &symbols, const std::string &id, const std::vector<std::pair<std::string, double>> &functions) {
  KnownPhase known;
  known.application = "Shop";
  known.id = id;
  std::vector<Part> parts;
  for (const auto &[text, threads] : functions) parts.push_back({symbols.number_of(text), threads});
  Moments threads;
  for (int i = 0; i < 40; ++i) threads.add(4);
  known.phase = {Profile(parts, threads), 4};
  known.learned_ns = 1'700'000'000'000'000'000;
  return known;
}

TEST_CASE("an export reads back as the same phases, with names of any bytes") {
  PhaseDatabase database;
  KnownPhase sort = phase(database.symbols(), "sort-1", {{"main;\"sort\" <\n>", 100}, {"naïve", 60.5}});
  sort.seconds.add(3), sort.seconds.add(5);
  sort.usage.by_resource[kMemory].add(100);
  sort.before[{"read-1", "map-2"}] = 7;
  database.add(sort);
  database.add(phase(database.symbols(), "read-1", {{"read", 10}}));
  const std::string exported = database.exported();
  PhaseDatabase other;
  REQUIRE(other.import(exported).ok());
  CHECK(other.exported() == exported);
  const KnownPhase *const found = other.find("Shop", "sort-1");
  REQUIRE(found != nullptr);
  CHECK(found->phase.epoch == 4);
  CHECK(found->seconds == sort.seconds);
  CHECK(found->usage.by_resource[kMemory].mean == 100);
  CHECK(found->usage.by_resource[kCpu].count == 0);
  CHECK(found->before.at({"read-1", "map-2"}) == 7);
  CHECK(found->phase.profile.threads() == sort.phase.profile.threads());
}

TEST_CASE("phases of several hosts that match are one, in any order of reading") {
  for (const bool swapped : {false, true}) {
    PhaseDatabase database;
    const KnownPhase one = phase(database.symbols(), "sort-1", {{"a", 100}, {"b", 50}});
    const KnownPhase same = phase(database.symbols(), "sort-2", {{"a", 210}, {"b", 100}});
    const KnownPhase other = phase(database.symbols(), "read-1", {{"c", 50}});
    for (const KnownPhase *add : swapped ? std::vector{&same, &other, &one} : std::vector{&one, &other, &same}) database.add(*add);
    REQUIRE(database.phases().size() == 2);
    CHECK(database.phases()[0].phase.profile.total() == 460);
    CHECK(database.canonical("Shop", "sort-1") == database.canonical("Shop", "sort-2"));
    CHECK(database.canonical("Shop", "read-1") == "read-1");
    CHECK(database.canonical("Shop", "unknown") == "unknown");
  }
}

TEST_CASE("phases of other programs and other keys stay apart") {
  PhaseDatabase database;
  KnownPhase one = phase(database.symbols(), "sort-1", {{"a", 100}});
  database.add(one);
  one.application = "Bank";
  database.add(one);
  one.key = Key::stack;
  database.add(one);
  CHECK(database.phases().size() == 3);
}

TEST_CASE("names tell a phase from the others") {
  Symbols symbols;
  const auto profile = [&](const std::vector<std::pair<std::string, double>> &functions) {
    return phase(symbols, "x", functions).phase.profile;
  };
  const Profile sort = profile({{"java.lang.Thread.run_[j]", 100}, {"org.shop.Sort.merge_[j]", 90}});
  const Profile read = profile({{"java.lang.Thread.run_[j]", 100}, {"org.shop.Input.read_[j]", 95}});
  CHECK(id_of(sort, {&read}, symbols).starts_with("Sort.merge-"));
  CHECK(id_of(read, {&sort}, symbols).starts_with("Input.read-"));
  CHECK(id_of(sort, {&read}, symbols).size() == std::string("Sort.merge-").size() + 4);
  CHECK(id_of(profile({{"void ns::Cart::add(int, char)", 9}}), {}, symbols).starts_with("ns::Cart::add-"));
  CHECK(id_of(profile({{"[gc]", 9}, {"x", 2}}), {}, symbols) == "gc");
  CHECK(id_of(profile({{"main;a b;c\"d", 9}}), {}, symbols).find_first_of("\"; ") == std::string::npos);
}

TEST_CASE("definitions that are none are refused with the reason") {
  const auto refused = [](const std::string &json) {
    PhaseDatabase database;
    const auto status = database.add_definition(json);
    return status.ok() ? "" : status.error();
  };
  const std::string good =
      R"({"version":1,"application":"a","phase":"p","key":"function","epoch":4,"learned":1,"functions":[["f",2]]})";
  const auto changed = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK(refused(good) == "");
  CHECK(refused("{").find("no definition of phases") != std::string::npos);
  CHECK(refused("[]").find("expected an object") != std::string::npos);
  CHECK(refused(changed("\"version\":1", "\"version\":2")).find("newer than this program") != std::string::npos);
  CHECK(refused(changed("\"epoch\":4", "\"epoch\":5")).find("epoch") != std::string::npos);
  CHECK(refused(changed("[[\"f\",2]]", "[]")).find("empty") != std::string::npos);
  CHECK(refused(changed("[[\"f\",2]]", "[[\"f\",-2]]")).find("valid number") != std::string::npos);
  CHECK(refused(changed("[[\"f\",2]]", "[[\"f\",1e300]]")).find("valid number") != std::string::npos);
  CHECK(refused(changed("\"key\":\"function\"", "\"key\":\"x\"")).find("neither") != std::string::npos);
  CHECK(refused(changed("\"a\"", "\"" + std::string(300, 'a') + "\"")).find("application") != std::string::npos);
  PhaseDatabase database;
  CHECK_FALSE(database.import(good).ok());
}

TEST_CASE("a phase of very many functions keeps those that count") {
  PhaseDatabase database;
  std::vector<std::pair<std::string, double>> functions;
  for (int i = 0; i < 2000; ++i) functions.emplace_back("f" + std::to_string(i) + std::string(300, 'x'), 1.0 + i);
  const KnownPhase many = phase(database.symbols(), "many-1", functions);
  const std::string json = definition_json(many, database.symbols());
  CHECK(json.size() < 70'000);
  PhaseDatabase other;
  REQUIRE(other.add_definition(json).ok());
  CHECK(other.phases()[0].phase.profile.parts().size() >= 200);
  CHECK(json.find("f1999x") != std::string::npos);
}

}  // namespace
}  // namespace atalaya::phases
