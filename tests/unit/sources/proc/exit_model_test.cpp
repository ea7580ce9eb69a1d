// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/exits/exit_model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace atalaya::proc {
namespace {

using Amounts = std::vector<std::pair<procfs::Counter, uint64_t>>;

void add(ExitModel &model, std::string_view name, std::string_view parent, uint64_t cgroup, const Amounts &amounts) {
  ExitReading exit;
  exit.last.name = procfs::Name(name);
  exit.parent = procfs::Name(parent);
  exit.cgroup = cgroup;
  Counters used;
  for (const auto &[counter, amount] : amounts) used.set(counter, amount);
  model.add(exit, used);
}

void add_cpu(ExitModel &model, std::string_view name, uint64_t user_ns) {
  add(model, name, "sh", 1, {{procfs::Counter::user_ns, user_ns}});
}

std::optional<uint64_t> used(const ExitGroup &group, procfs::Counter counter) {
  return group.used.has(counter) ? std::optional(group.used.get(counter)) : std::nullopt;
}

TEST_CASE("exits of one name, parent and cgroup are one group; another parent or cgroup is another") {
  ExitModel model(8);
  model.begin();
  add(model, "true", "sh", 1, {{procfs::Counter::user_ns, 10}, {procfs::Counter::faults_minor, 3}});
  add(model, "true", "make", 1, {{procfs::Counter::user_ns, 7}});
  add(model, "true", "sh", 2, {{procfs::Counter::user_ns, 5}});
  add(model, "true", "sh", 1, {{procfs::Counter::user_ns, 30}, {procfs::Counter::kernel_ns, 2}});
  const auto groups = model.groups();
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].name.text() == "true");
  CHECK(groups[0].parent.text() == "sh");
  CHECK(groups[0].cgroup == 1);
  CHECK(groups[0].exits == 2);
  CHECK(groups[0].cpu_ns() == 42);
  CHECK(used(groups[0], procfs::Counter::faults_minor) == 3);
  CHECK_FALSE(used(groups[0], procfs::Counter::faults_major));  // no exit reported it
  CHECK(groups[1].parent.text() == "make");
  CHECK(groups[2].cgroup == 2);
}

TEST_CASE("the children of one process are a group of their own if they used half a second together") {
  ExitModel model(8);
  model.begin();
  const auto add_child = [&](int32_t parent, uint64_t user_ns) {
    ExitReading exit;
    exit.last.name = exit.parent = procfs::Name("python3");
    exit.parent_pid = parent;
    Counters used;
    used.set(procfs::Counter::user_ns, user_ns);
    model.add(exit, used);
  };
  for (int i = 0; i < 10; ++i) {
    add_child(7, kMinSeparateNs / 10);
    add_child(8, kMinSeparateNs / 10 - 1);
    add_child(9, kMinSeparateNs / 20);
  }
  add_child(0, 1);
  const auto groups = model.groups();
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].parent_pid == 0);
  CHECK(groups[0].exits == 21);
  CHECK(groups[0].cpu_ns() == kMinSeparateNs - 10 + kMinSeparateNs / 2 + 1);
  CHECK(groups[1].parent_pid == 7);
  CHECK(groups[1].exits == 10);
  CHECK(groups[1].cpu_ns() == kMinSeparateNs);
}

TEST_CASE("names differ by every byte, odd ones too") {
  ExitModel model(8);
  model.begin();
  for (const std::string_view name : {"a b", "a\nb", "", "(a)", "\xc3\xa4", "a b "}) add_cpu(model, name, 1);
  CHECK(model.groups().size() == 6);
}

TEST_CASE("an exit whose CPU time is unknown counts as an exit") {
  ExitModel model(8);
  model.begin();
  add(model, "cc1", "make", 1, {});
  add(model, "cc1", "make", 1, {{procfs::Counter::faults_minor, 9}});
  REQUIRE(model.groups().size() == 1);
  CHECK(model.groups()[0].exits == 2);
  CHECK(model.groups()[0].cpu_ns() == 0);
  CHECK_FALSE(used(model.groups()[0], procfs::Counter::user_ns));
  CHECK(used(model.groups()[0], procfs::Counter::faults_minor) == 9);
}

TEST_CASE("the groups with the most CPU are kept, the others are one") {
  ExitModel model(2);
  model.begin();
  for (const auto &[name, ns] : {std::pair("a", 5), {"b", 50}, {"c", 1}, {"d", 20}}) add_cpu(model, name, ns);
  add_cpu(model, "a", 30);
  const auto groups = model.groups();
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].name.text() == "b");
  CHECK(groups[1].name.text() == "a");
  CHECK_FALSE(groups[1].other);
  CHECK(groups[2].other);
  CHECK(groups[2].name.text().empty());
  CHECK(groups[2].exits == 2);
  CHECK(groups[2].cpu_ns() == 21);
}

TEST_CASE("a process that is called other has its own group") {
  ExitModel model(1);
  model.begin();
  add_cpu(model, "other", 5);
  REQUIRE(model.groups().size() == 1);
  CHECK_FALSE(model.groups()[0].other);
}

TEST_CASE("a window does not know those before") {
  ExitModel model(1);
  model.begin();
  add_cpu(model, "a", 5);
  add_cpu(model, "b", 6);
  CHECK(model.groups().size() == 2);
  model.begin();
  CHECK(model.groups().empty());
  model.begin();
  add_cpu(model, "a", 7);
  REQUIRE(model.groups().size() == 1);
  CHECK(model.groups()[0].cpu_ns() == 7);
}

TEST_CASE("which groups are kept does not depend on the order of the exits") {
  std::vector<uint64_t> exits(30);
  std::iota(exits.begin(), exits.end(), 0);
  std::mt19937 random(7);
  std::vector<std::string> first;
  for (int round = 0; round < 20; ++round) {
    std::shuffle(exits.begin(), exits.end(), random);
    ExitModel model(10);
    model.begin();
    for (const uint64_t exit : exits) add_cpu(model, "p" + std::to_string(exit), exit / 3);  // some use the same
    std::vector<std::string> names;
    names.reserve(11);
    for (const ExitGroup &group : model.groups()) names.emplace_back(group.name.text());
    CHECK(names.size() == 11);
    if (round == 0) first = names;
    CHECK(names == first);
  }
}

TEST_CASE("sums are exact, with many times more names than groups") {
  std::mt19937_64 random(11);
  ExitModel model(8);
  for (int window = 0; window < 20; ++window) {
    model.begin();
    uint64_t user = 0, kernel = 0, faults = 0, exits = 0;
    for (int i = 0; i < 3000; ++i) {
      const uint64_t name = random() % 500;
      const uint64_t scale = name < 4 ? 1000 : 1;  // a few use nearly all
      const Amounts amounts = {{procfs::Counter::user_ns, random() % 100 * scale},
                               {procfs::Counter::kernel_ns, random() % 100 * scale},
                               {procfs::Counter::faults_minor, random() % 10}};
      add(model, "p" + std::to_string(name), "sh", name % 3, amounts);
      user += amounts[0].second;
      kernel += amounts[1].second;
      faults += amounts[2].second;
      ++exits;
    }
    uint64_t cpu_sum = 0, faults_sum = 0, exits_sum = 0;
    const auto groups = model.groups();
    CHECK(groups.size() == 9);
    for (const ExitGroup &group : groups) {
      cpu_sum += group.cpu_ns();
      faults_sum += group.used.get(procfs::Counter::faults_minor);
      exits_sum += group.exits;
    }
    CHECK(cpu_sum == user + kernel);
    CHECK(faults_sum == faults);
    CHECK(exits_sum == exits);
    for (size_t i = 0; i < 4; ++i) CHECK(groups[i].name.text().size() == 2);  // p0 to p3
  }
}

TEST_CASE("without a group all exits are the others") {
  ExitModel model(0);
  model.begin();
  for (int i = 0; i < 10; ++i) add_cpu(model, "p" + std::to_string(i), 1);
  REQUIRE(model.groups().size() == 1);  // for any number of calls
  CHECK(model.groups()[0].other);
  CHECK(model.groups()[0].exits == 10);
}

}  // namespace
}  // namespace atalaya::proc
