// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/name_budget.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

namespace atalaya::receive {
namespace {

constexpr int64_t kOneSecond = 1'000'000'000, kOneHour = 3600 * kOneSecond;

// Like the agent's table: a name keeps its id, and its text its place.
struct Table {
  std::deque<std::string> names;
  std::map<std::string, uint32_t> ids;

  uint32_t intern(const std::string &name) {
    if (const auto known = ids.find(name); known != ids.end()) return known->second;
    names.push_back(name);
    return ids[name] = static_cast<uint32_t>(names.size());
  }
  std::string_view name(uint32_t id) const { return names[id - 1]; }
};

// As the builder does. 0: refused.
uint32_t use(NameBudget &budget, Table &table, const std::string &name, const SenderPtr &sender, int64_t now) {
  budget.expire(now);
  if (const uint32_t known = budget.find(name, sender, now); known != 0) return known;
  if (!budget.permits(sender.get())) return 0;
  const uint32_t id = table.intern(name);
  budget.add(table.name(id), id, sender, now);
  return id;
}

}  // namespace

TEST_CASE("receive: a name that nobody used for an hour makes room, and has the same id when it comes back") {
  NameBudget budget(8);
  Table table;
  const auto abuser = std::make_shared<Sender>("abuser"), honest = std::make_shared<Sender>("honest");
  for (int i = 0; i < 4; ++i) CHECK(use(budget, table, "a" + std::to_string(i), abuser, kOneHour) != 0);
  CHECK(use(budget, table, "a4", abuser, kOneHour) == 0);
  CHECK(budget.sender_full(*abuser));
  for (int i = 0; i < 4; ++i) CHECK(use(budget, table, "h" + std::to_string(i), honest, kOneHour) != 0);
  CHECK(budget.full());
  const uint32_t kept = use(budget, table, "a0", abuser, kOneHour + kOneHour / 2);
  CHECK(use(budget, table, "a5", abuser, 2 * kOneHour - 1) == 0);
  // a0 is used, and stays. The others of the abuser and those of the honest sender made room for three and four.
  for (int i = 5; i < 8; ++i) CHECK(use(budget, table, "a" + std::to_string(i), abuser, 2 * kOneHour + 60 * kOneSecond) != 0);
  CHECK(use(budget, table, "a8", abuser, 2 * kOneHour + 60 * kOneSecond) == 0);
  CHECK(budget.counted() == 4);
  CHECK(use(budget, table, "a0", abuser, 3 * kOneHour) == kept);
  CHECK(use(budget, table, "h0", honest, 9 * kOneHour) == table.ids.at("h0"));
  CHECK(budget.counted() == 1);
}

TEST_CASE("receive: one sender that adds names for ever leaves room for the others") {
  NameBudget budget(100, {4000, 1 << 20});
  Table table;
  const auto abuser = std::make_shared<Sender>("abuser"), honest = std::make_shared<Sender>("honest");
  int64_t now = 0;
  size_t accepted = 0;
  for (int i = 0; i < 20'000; ++i) accepted += use(budget, table, "n" + std::to_string(i), abuser, now += kOneHour / 30) != 0;
  CHECK(accepted == 500);  // an eighth of all
  CHECK(budget.counted() == 0);
  for (int i = 0; i < 50; ++i) CHECK(use(budget, table, "h" + std::to_string(i), honest, now) != 0);
  CHECK_FALSE(budget.total_is_reached());
}

TEST_CASE("receive: names of random senders stay within all limits, in number and bytes; known names are never refused") {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    std::minstd_rand random(seed);
    const auto draw = [&random](size_t below) { return static_cast<size_t>(random() % below); };
    const size_t max_names = 4 + draw(40);
    const NameBudget::Amount max_total{200 + draw(400), 2000 + draw(8000)};
    NameBudget budget(max_names, max_total);
    Table table;
    std::vector<SenderPtr> senders;
    for (int i = 0; i < 12; ++i) senders.push_back(std::make_shared<Sender>(std::to_string(i)));
    std::map<std::string, int64_t> used;  // of accepted names
    std::set<std::string> accepted;
    size_t bytes = 0;
    int64_t now = 0;
    for (int step = 0; step < 3000; ++step) {
      now += static_cast<int64_t>(draw(300)) * kOneSecond;
      const std::string name = std::string(draw(20), 'x') + std::to_string(draw(900));
      const uint32_t id = use(budget, table, name, senders[draw(senders.size())], now);
      if (accepted.contains(name)) REQUIRE(id == table.ids.at(name));
      if (id == 0) continue;
      if (accepted.insert(name).second) bytes += name.size();
      used[name] = now;
    }
    CHECK(accepted.size() <= max_total.names);
    CHECK(bytes < max_total.bytes + 32);
    CHECK(accepted.size() > max_names);
    // Names of the last hour count, older ones no more than the sweep once a minute allows.
    const auto since = [&](int64_t time) {
      return static_cast<size_t>(std::count_if(used.begin(), used.end(), [time](const auto &one) { return one.second > time; }));
    };
    CHECK(budget.counted() >= since(now - kOneHour));
    CHECK(budget.counted() <= since(now - kOneHour - 660 * kOneSecond));
    size_t names = 0;
    for (const SenderPtr &sender : senders) names += sender->names;
    CHECK(names == budget.counted());
  }
}

}  // namespace atalaya::receive
