// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/flow_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/unit/sources/net/records.h"

namespace atalaya::net {
namespace {

FlowKey key(int32_t pid, uint16_t port, std::string_view name = "x") {
  FlowKey key;
  key.owner = Owner(pid, 7, name);
  key.ends = ends(1, 0, 2, port);
  return key;
}

Traffic bytes(uint64_t count) {
  Traffic moved;
  moved.out_bytes = count;
  moved.connections = 1;
  return moved;
}

TEST_CASE("flows that differ only in their network namespace are one, and of no namespace") {
  FlowTable table(10);
  FlowKey one = key(0, 80), two = one;
  one.ends.space = 1;
  two.ends.space = 2;
  table.add(one, bytes(5));
  table.add(two, bytes(6));
  REQUIRE(table.flows().size() == 1);
  CHECK(table.flows()[0].moved.out_bytes == 11);
  CHECK(table.flows()[0].key.ends.space == 0);
}

TEST_CASE("the same flow is summed, processes that have ended are the same by name and cgroup") {
  FlowTable table(10);
  table.add(key(1, 80), bytes(5));
  table.add(key(1, 80), bytes(6));
  table.add(key(2, 80), bytes(7));
  FlowKey ended = key(0, 80);
  ended.owner.start_ns = 0;
  table.add(ended, bytes(1));
  FlowKey named = ended;
  named.owner = Owner(0, 0, "y");
  table.add(named, bytes(2));
  table.add(ended, bytes(1));
  FlowKey contained = ended;
  contained.owner = ended.owner.group(5);
  table.add(contained, bytes(1));
  const auto flows = table.flows();
  REQUIRE(flows.size() == 5);
  CHECK(flows[0].moved.out_bytes == 11);
  CHECK(flows[0].moved.connections == 2);
  CHECK(flows[1].moved.out_bytes == 7);
  CHECK(std::count_if(flows.begin(), flows.end(), [](const Flow &flow) { return flow.key.owner.text() == "y"; }) == 1);
  CHECK(std::count_if(flows.begin(), flows.end(), [](const Flow &flow) { return flow.key.owner.cgroup == 5; }) == 1);
}

TEST_CASE("fifty thousand flows: the largest are kept, the others are one, and the sum is exact") {
  FlowTable table(100);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < 50'000; ++i) {
    const uint64_t amount = i % 500 == 0 ? 1'000'000 + i : i % 97;
    sum += amount;
    table.add(key(static_cast<int32_t>(i / 60'000 + 1), static_cast<uint16_t>(i + 1)), bytes(amount));
  }
  const auto flows = table.flows();
  REQUIRE(flows.size() == 101);
  uint64_t shown = 0;
  for (const Flow &flow : flows) shown += flow.moved.out_bytes;
  CHECK(shown == sum);
  CHECK(flows[0].moved.out_bytes == 1'049'500);
  CHECK(flows[99].moved.out_bytes == 1'000'000);
  CHECK(flows.back().key.other);
  CHECK(flows.back().merged == 49'900);
  table.clear();
  CHECK(table.flows().empty());
}

TEST_CASE("the flows of each window are those that were added in it, after small and large windows") {
  FlowTable table(50);
  std::minstd_rand random(1);
  for (int window = 0; window < 200; ++window) {
    std::map<uint16_t, uint64_t> expected;
    const uint64_t ports = 1 + random() % (window % 10 == 0 ? 5000U : 40U);
    for (uint64_t i = 0; i < 2 * ports; ++i) {
      const auto port = static_cast<uint16_t>(1 + random() % ports);
      const uint64_t amount = random() % 1000;
      expected[port] += amount;
      table.add(key(1, port), bytes(amount));
    }
    uint64_t sum = 0, shown = 0;
    for (const auto &[port, amount] : expected) sum += amount;
    const auto flows = table.flows();
    for (const Flow &flow : flows) {
      shown += flow.moved.out_bytes;
      if (ports <= 40) CHECK(flow.moved.out_bytes == expected[flow.key.port()]);
    }
    CHECK(shown == sum);
    if (ports <= 40) CHECK(flows.size() == expected.size());
    table.clear();
  }
}

}  // namespace
}  // namespace atalaya::net
