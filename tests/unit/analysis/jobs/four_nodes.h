// SPDX-License-Identifier: Apache-2.0
// Four nodes with tasks in waves, and the measurements of their hosts.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/analysis/jobs/jobs.h"

namespace atalaya::bottleneck::test {

using query::test::MemoryStore;

inline constexpr int64_t kMebi = 1 << 20;
inline constexpr int kWaves = 6, kLength = 10;
inline const std::vector<std::string> kHosts = {"GD41", "GD42", "GD43", "GD44"};

// A phase of a task after the other on each host, ten seconds each, a little up and down; on `slow` it has less bytes.
inline void add_tasks(Spans &spans, const std::string &phase, const std::string &slow, double of_usual,
                      const std::map<std::string, double> &remote = {}) {
  for (int wave = 0; wave < kWaves; ++wave) {
    for (const std::string &host : kHosts) {
      const double up_and_down = 1 + 0.03 * ((wave * 7 + static_cast<int>(host.back())) % 5 - 2);
      const auto bytes = static_cast<int64_t>((host == slow ? of_usual : 1) * up_and_down * 1000 * kMebi);
      const Tags task = Spans::task("map", "m" + std::to_string(wave) + host, host);
      Counts counts = {{"span.bytes", bytes}, {"span.outcome", 0}};
      if (remote.contains(host))
        counts.emplace_back("span.bytes.remote", static_cast<int64_t>(static_cast<double>(bytes) * remote.at(host)));
      spans.add("task", task, wave * kLength, kLength, counts);
      spans.add("phase", Spans::with(task, "phase", phase), wave * kLength, kLength, {{"span.bytes", bytes}});
    }
  }
}

// A value a second on each host; those named have another one.
inline void add_metric(MemoryStore &store, const std::string &metric, double usual,
                       const std::map<std::string, double> &others = {}, Tags tags = {}) {
  for (const std::string &host : kHosts) {
    query::test::Values values;
    for (int second = 1; second <= kWaves * kLength; ++second) {
      const double up_and_down =
          1 + 0.01 * ((second * 3 + static_cast<int>(metric.size() + static_cast<size_t>(host.back()))) % 7 - 3);
      values.emplace_back(second, (others.contains(host) ? others.at(host) : usual) * up_and_down);
    }
    tags["host"] = host;
    store.add(metric, tags, values);
  }
}

// Nothing wrong.
inline void add_usual(MemoryStore &store) {
  add_metric(store, "sys.cpu.usage", 40, {}, {{"core", "0"}});
  add_metric(store, "sys.cpu.usage", 44, {}, {{"core", "1"}});
  add_metric(store, "sys.mem.free", 500);
  add_metric(store, "sys.swap.in.bytes", 0);
  add_metric(store, "sys.mem.total", 4096);
  add_metric(store, "proc.cpu.user", 60, {}, {{"process", "java"}, {"pid", "7"}});
  add_metric(store, "sys.net.in.mb", 20, {}, {{"interface", "eth0"}});
  add_metric(store, "sys.net.in.mb", 9000, {{"GD43", 1}}, {{"interface", "lo"}});
}

inline const jobs::Finding &only_finding(const jobs::Analysis &all) {
  REQUIRE(all.findings.size() == 1);
  return all.findings[0];
}

}  // namespace atalaya::bottleneck::test
