// SPDX-License-Identifier: Apache-2.0
// Planted causes are named first; healthy hosts have no finding. The simulation shares no code with the analysis.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "plugins/shared/analysis/explain/explanation.h"
#include "tests/unit/analysis/explain/simulated_host.h"

namespace atalaya::explain::test {
namespace {

constexpr query::Range kWindow{kT0 + kLength * kSecond, kT0 + kEnd *kSecond}, kBaseline{kT0, kT0 + kLength *kSecond};

Explanation explained(Host &host) {
  query::Budget budget({});
  Reader reader{host.store, budget};
  return explain({{kWindow, {}}, {kBaseline, {}}}, reader);
}

// "cpu: hog", or "nothing".
std::string first_of(const Explanation &explanation) {
  if (explanation.findings.empty()) return "nothing";
  const Finding &finding = explanation.findings.front();
  const std::string part = finding.change.named > 0 ? part_name(finding.change.parts.front().tags, false) : "total";
  return std::string(finding.change.resource.id) + ": " + part;
}

std::function<double(double)> constant(double value) {
  return [value](double) { return value; };
}
// In the last part of the range only.
std::function<double(double)> late(double from, double value) {
  return [=](double time) { return time > from ? value : 0; };
}

void check_first(const std::string &expected, const std::function<void(Host &)> &plant) {
  for (uint32_t seed = 1; seed <= test::rounds(10); ++seed) {
    Host host(seed);
    host.add_usual();
    plant(host);
    const Explanation explanation = explained(host);
    CAPTURE(seed);
    CHECK(first_of(explanation) == expected);
  }
}

TEST_CASE("a CPU hog") {
  check_first("cpu: hog", [](Host &host) {
    host.add_process("hog", 77, 0, 3, {.user = constant(98), .delay = constant(10)});
    host.add_host();
  });
}

TEST_CASE("a CPU hog in the last half of the range") {
  check_first("cpu: hog", [](Host &host) {
    host.add_process("hog", 77, 0, 3, {.user = late(0.5, 150)});
    host.add_host();
  });
}

TEST_CASE("a memory leak") {
  check_first("memory: leaky", [](Host &host) {
    host.add_process("leaky", 77, 1, 100, {.user = constant(2), .memory = [](double time) { return 4000 * time; }});
    host.add_host();
  });
}

TEST_CASE("a disk hog") {
  check_first("disk.write: dd", [](Host &host) {
    host.add_process("dd", 77, 0, 3, {.kernel = constant(25), .writes = constant(150)});
    host.add_host(constant(900), constant(90), constant(40));
  });
}

TEST_CASE("a chatty peer") {
  check_first("network: client", [](Host &host) {
    host.add_process("client", 77, 1, 10, {.kernel = constant(15), .traffic = constant(600), .switches = constant(3000)});
    host.add_host();
  });
}

TEST_CASE("garbage collection") {
  check_first("gc: Heavy", [](Host &host) {
    host.add_process("Heavy", 77, 20, 900, {.user = constant(120)});
    host.store.add("jvm.gc.time", host.process("Heavy", 77), planted(host.noise.series(1, 0.5, 0.3), constant(45)));
    host.add_host();
  });
}

TEST_CASE("lock contention") {
  check_first("switches: locked", [](Host &host) {
    host.add_process("locked", 77, 20, 100, {.kernel = constant(40), .switches = constant(90'000)});
    host.add_host();
  });
}

TEST_CASE("a throttled cgroup") {
  check_first("throttled: /batch", [](Host &host) { host.add_host(Host::none, Host::none, Host::none, constant(600)); });
}

TEST_CASE("a slow disk") {
  check_first("waiting.disk: sda", [](Host &host) { host.add_host(constant(900), constant(70), constant(30)); });
}

TEST_CASE("a fork storm") {
  check_first("forks: true started by loop", [](Host &host) {
    host.exits("true", "loop", 400 * kStep);
    host.add_process("loop", 77, 1, 3, {.user = constant(30), .kernel = constant(60)});
    host.add_host();
  });
}

TEST_CASE("a changed setting is reported with both values, and nothing else") {
  for (uint32_t seed = 1; seed <= test::rounds(10); ++seed) {
    Host host(seed);
    host.add_usual();
    host.add_host();
    host.store.facts = {{0, kLength + 50, "sysctl.vm.swappiness", "60"},
                        {kLength + 50, -1, "sysctl.vm.swappiness", "1"},
                        {0, -1, "cpu.governor", "performance"}};
    const Explanation explanation = explained(host);
    CHECK(explanation.findings.empty());
    REQUIRE(explanation.facts.size() == 1);
    CHECK(explanation.facts[0].fact == "sysctl.vm.swappiness");
    CHECK(explanation.facts[0].before == "60");
    CHECK(explanation.facts[0].after == "1");
    CHECK(explanation.facts[0].time_ns == kT0 + (kLength + 50) * kSecond);
  }
}

// A host whose processes have traffic from `begin` on; its source of traffic reports windows from `runs` on.
Explanation with_traffic(uint32_t seed, int begin, int runs) {
  Host host(seed);
  Values busy, traffic, lost;
  for (int second = kStep; second <= kEnd; second += kStep) {
    busy.emplace_back(second, 5);
    if (second > begin) traffic.emplace_back(second, host.noise.uniform(400, 500));
    if (second > runs) lost.emplace_back(second, 0);
  }
  host.store.add("proc.cpu.user", host.process("client", 77), busy);
  if (begin < kEnd) host.store.add("proc.net.tcp.out.mb", host.process("client", 77), traffic);
  if (runs < kEnd) host.store.add("proc.net.lost", {{"host", "h"}, {"process", "unattributed"}}, lost);
  host.add_host();
  return explained(host);
}

TEST_CASE("a resource that nothing used in the baseline is compared if its source ran") {
  for (uint32_t seed = 1; seed <= test::rounds(10); ++seed) {
    CHECK(first_of(with_traffic(seed, kLength, 0)) == "network: client");
    const Explanation unknown = with_traffic(seed, kLength, kEnd), partly = with_traffic(seed, kLength, kLength / 2);
    for (const Explanation *explanation : {&unknown, &partly}) {
      CHECK(first_of(*explanation) == "nothing");
      REQUIRE(explanation->notes.size() == 1);
      CHECK(explanation->notes[0] == "network traffic of processes is not compared: one of the ranges has no samples of it");
    }
  }
}

TEST_CASE("healthy hosts have no finding") {
  for (uint32_t seed = 100; seed < 100 + test::rounds(100); ++seed) {
    Host host(seed);
    host.add_usual();
    host.add_host();
    const Explanation explanation = explained(host);
    CAPTURE(seed);
    CHECK(first_of(explanation) == "nothing");
    CHECK(as_text(explanation).find("Nothing changed beyond chance.") != std::string::npos);
    CHECK(explanation.unchanged.size() >= 10);
  }
}

TEST_CASE("a change that two processes cancel is found by its parts") {
  check_first("cpu: new", [](Host &host) {
    host.add_process("new", 77, 0, 3, {.user = constant(100)});
    host.add_process("old", 78, 110, 3, {.user = constant(-80)});
    host.add_host();
  });
}

}  // namespace
}  // namespace atalaya::explain::test
