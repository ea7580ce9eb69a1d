// SPDX-License-Identifier: Apache-2.0
// The law of coverage: an average is of the time that was collected, whatever is selected. The oracle counts seconds in tables.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/usage.h"
#include "plugins/shared/store/query/windows/downsample.h"
#include "tests/unit/store/query/memory_store.h"

namespace atalaya::query::test {
namespace {

constexpr int kEnd = 600;  // seconds

// Hosts whose agents run, stop and start; processes that live for a part of it. Each agent has windows of one length, aligned.
struct Cluster {
  explicit Cluster(unsigned seed) : random(seed) {
    store.always_collected = false;
    store.block = static_cast<size_t>(any(1, 9));
    for (int h = any(1, 3); h > 0; --h) add_host("h" + std::to_string(h));
  }
  int any(int from, int to) { return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1)); }

  struct Host {
    std::set<int> collected;  // seconds: s is (s - 1, s]
  };
  struct Process {
    std::string host, name;
    std::map<int, double> values;  // by second
  };

  void add_host(const std::string &name) {
    Host &host = hosts[name];
    const int step = any(1, 12);
    struct Life {
      int from, to;
      std::string process;
      std::vector<MemoryStore::Window> windows;
    };
    std::vector<Life> lives(static_cast<size_t>(any(1, 6)));
    for (Life &life : lives) {
      life.from = any(0, kEnd);
      life.to = any(life.from, kEnd + 100);
      life.process = "p" + std::to_string(any(0, 2));
    }
    lives.front().from = 0;  // the agent itself
    lives.front().to = kEnd + 100;
    for (int at = any(0, 200); at < kEnd - 50; at += any(1, 200)) {
      for (Life &life : lives)
        if (life.from <= at && at <= life.to && any(0, 1) == 0) life.windows.push_back({at, 0, 1000});  // of a start: no length
      int end = (at / step + 1) * step;
      const bool again = any(0, 1) == 0;  // the first reading of an aligned window is a start, too
      for (Life &life : lives)
        if (again && life.from <= at && end <= life.to) life.windows.push_back({end, 0, 1000});
      for (int i = any(1, 30); i > 0 && end < kEnd; --i) {
        end += step;
        for (int s = end - step + 1; s <= end; ++s) host.collected.insert(s);
        for (Life &life : lives)
          if (life.from <= end - step && end <= life.to) life.windows.push_back({end, step, static_cast<double>(any(1, 100))});
      }
      at = end;
    }
    for (size_t i = 0; i < lives.size(); ++i) {
      if (lives[i].windows.empty()) continue;
      Process process{name, lives[i].process, {}};
      bool has_windows = false;
      for (const auto &window : lives[i].windows)
        for (int s = window.end - window.length + 1; s <= window.end; ++s) {
          process.values[s] = window.value;
          has_windows = true;
        }
      if (!has_windows) continue;
      store.add_windows("proc.mem.resident", {{"host", name}, {"process", process.name}, {"pid", std::to_string(i)}},
                        lives[i].windows);
      processes.push_back(std::move(process));
    }
  }

  // The sum of the averages of the processes over a range of seconds; nothing if none of them had a window in it.
  std::optional<double> average(int from, int to, const std::string &host, const std::string &name) const {
    double sum = 0;
    bool is_any = false;
    for (const Process &process : processes) {
      if ((!host.empty() && process.host != host) || (!name.empty() && process.name != name)) continue;
      double total = 0;
      int collected = 0;
      for (int s = from + 1; s <= to; ++s) {
        if (!hosts.at(process.host).collected.contains(s)) continue;
        ++collected;
        if (const auto value = process.values.find(s); value != process.values.end()) {
          total += value->second;
          is_any = true;
        }
      }
      if (collected > 0) sum += total / collected;
    }
    return is_any ? std::optional(sum) : std::nullopt;
  }
  double coverage(int from, int to, const std::set<std::string> &of) const {
    double sum = 0;
    for (const std::string &host : of)
      for (int s = from + 1; s <= to; ++s) sum += hosts.at(host).collected.contains(s) ? 1 : 0;
    return sum / (to - from) / static_cast<double>(of.size());
  }
  std::set<std::string> hosts_of(const std::string &host, const std::string &name, int from, int to) const {
    std::set<std::string> found;
    for (const Process &process : processes) {
      const auto first = process.values.upper_bound(from);
      if (first == process.values.end() || first->first > to) continue;
      if ((host.empty() || process.host == host) && (name.empty() || process.name == name)) found.insert(process.host);
    }
    return found;
  }

  std::mt19937 random;
  MemoryStore store;
  std::map<std::string, Host> hosts;
  std::vector<Process> processes;
};

struct Wanted {
  int from, to, every;  // 0: the whole range
  std::string function, host, process;
  bool by_host, by_process;
};

std::vector<Answer> ask(Cluster &cluster, const Wanted &wanted) {
  Query query = all_of("proc.mem.resident");
  query.range = {kT0 + wanted.from * kSecond, kT0 + wanted.to * kSecond};
  query.downsample = parse_downsample((wanted.every == 0 ? "0all" : std::to_string(wanted.every) + "s") + wanted.function).value();
  if (!wanted.host.empty()) query.tags.push_back({"host", {wanted.host}});
  if (!wanted.process.empty()) query.tags.push_back({"process", {wanted.process}});
  if (wanted.by_host) query.group_by.push_back("host");
  if (wanted.by_process) query.group_by.push_back("process");
  Budget budget({});
  return run_query(query, cluster.store, budget);
}

Wanted any_question(Cluster &cluster) {
  Wanted wanted{cluster.any(0, 500), 0, 0, "", "", "", false, false};
  wanted.to = wanted.from + cluster.any(20, 400);
  if (cluster.any(0, 3) > 0) wanted.every = cluster.any(1, 60);
  if (cluster.any(0, 1) > 0) wanted.function = "-avg";
  if (cluster.any(0, 2) == 0) wanted.host = "h" + std::to_string(cluster.any(1, 3));
  if (cluster.any(0, 2) == 0) wanted.process = "p" + std::to_string(cluster.any(0, 2));
  wanted.by_host = cluster.any(0, 1) == 0;
  wanted.by_process = cluster.any(0, 1) == 0;
  return wanted;
}

std::string tag(const Answer &answer, const char *key, const std::string &filter) {
  const auto found = answer.tags.find(key);
  return found == answer.tags.end() ? filter : found->second;
}

TEST_CASE("law: coverage: an average is of the collected time, for any range, step, filter and group") {
  size_t points = 0;
  for (unsigned seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    Cluster cluster(seed);
    if (cluster.processes.empty()) continue;
    for (int question = 0; question < 5; ++question) {
      const Wanted wanted = any_question(cluster);
      std::set<std::string> seen;
      for (const Answer &answer : ask(cluster, wanted)) {
        const std::string host = wanted.by_host ? tag(answer, "host", wanted.host) : wanted.host;
        const std::string process = wanted.by_process ? tag(answer, "process", wanted.process) : wanted.process;
        const int length = wanted.every == 0 ? wanted.to - wanted.from : wanted.every;
        for (const Point &point : answer.points) {
          ++points;
          const int end = static_cast<int>((point.time_ns - kT0) / kSecond);
          const int from = std::max(wanted.from, end - length), to = std::min(wanted.to, end);
          CAPTURE(from);
          CAPTURE(to);
          const auto average = cluster.average(from, to, host, process);
          REQUIRE(average.has_value());
          CHECK(point.value == doctest::Approx(*average).epsilon(1e-9));
        }
      }
    }
  }
  CHECK(points > 2000);
}

TEST_CASE("law: coverage: the part that was collected is with each value, and with the whole answer") {
  size_t partly = 0;
  for (unsigned seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    Cluster cluster(seed);
    if (cluster.processes.empty()) continue;
    Wanted wanted = any_question(cluster);
    wanted.by_host = true;
    for (const Answer &answer : ask(cluster, wanted)) {
      const std::string host = tag(answer, "host", wanted.host);
      const int length = wanted.every == 0 ? wanted.to - wanted.from : wanted.every;
      CHECK(answer.coverage == doctest::Approx(cluster.coverage(wanted.from, wanted.to, {host})).epsilon(1e-9));
      std::map<int64_t, double> covered;
      for (const Covered &one : answer.partly) covered[one.time_ns] = one.part;
      for (const Point &point : answer.points) {
        const int end = static_cast<int>((point.time_ns - kT0) / kSecond);
        const double right = cluster.coverage(std::max(wanted.from, end - length), std::min(wanted.to, end), {host});
        const auto found = covered.find(point.time_ns);
        CHECK((found == covered.end() ? 1 : found->second) == doctest::Approx(right).epsilon(1e-9));
        partly += found != covered.end() ? 1 : 0;
      }
    }
  }
  CHECK(partly > 200);
}

TEST_CASE("law: same by every way: a report has the values of a query of the same range") {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    Cluster cluster(seed);
    if (cluster.processes.empty()) continue;
    Wanted wanted = any_question(cluster);
    wanted.every = 0;
    wanted.by_process = true;
    std::map<Tags, double> reported;
    std::vector<std::string> keys = {"process"};
    if (wanted.by_host) keys.insert(keys.begin(), "host");
    std::vector<store::TagFilter> filters;
    if (!wanted.host.empty()) filters.push_back({"host", {wanted.host}});
    if (!wanted.process.empty()) filters.push_back({"process", {wanted.process}});
    Budget budget({});
    const Range range{kT0 + wanted.from * kSecond, kT0 + wanted.to * kSecond};
    for (const Usage &usage : usage_of({"proc.mem.resident"}, filters, keys, range, cluster.store, budget))
      reported[usage.tags] = usage.average;
    for (const Answer &answer : ask(cluster, wanted)) {
      Tags tags;
      for (const std::string &key : keys) tags[key] = answer.tags.at(key);
      REQUIRE(reported.contains(tags));
      CHECK(answer.points.at(0).value == doctest::Approx(reported[tags]).epsilon(1e-9));
      reported.erase(tags);
    }
    CHECK(reported.empty());
  }
}

TEST_CASE("a push of points of 10 s counts for the time that it covers") {
  MemoryStore store;
  store.always_collected = false;
  store.declare("app.requests", store::Kind::rate, "/s");
  store.add_windows("app.requests", {{"host", "h"}}, {{10, 10, 2.5}, {20, 10, 6}, {30, 10, 17.25}});
  Query query = all_of("app.requests");
  query.range = {kT0, kT0 + 40 * kSecond};
  query.downsample = parse_downsample("40s").value();
  Budget budget({});
  const auto answers = run_query(query, store, budget);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].points.at(0).value == doctest::Approx(25.75 / 3));
  CHECK(answers[0].partly.at(0).part == 0.75);
  CHECK(answers[0].coverage == 0.75);
}

TEST_CASE("a host's maximum counts the first reading of an agent once") {
  MemoryStore store;
  store.always_collected = false;
  store.add_windows("sys.mem.total", {{"host", "h"}}, {{1, 0, 100}, {2, 2, 100}, {4, 2, 100}});
  Budget budget({});
  const auto usage = usage_of({"sys.mem.total"}, {}, {}, {kT0, kT0 + 4 * kSecond}, store, budget);
  REQUIRE(usage.size() == 1);
  CHECK(usage[0].max == 100);
  CHECK(usage[0].average == doctest::Approx(100));
}

TEST_CASE("law: same by every way: a filter does not change the value of a series") {
  MemoryStore store;
  store.always_collected = false;
  store.add_windows("proc.mem.resident", {{"host", "h"}, {"pid", "1"}}, {{10, 10, 60}});
  store.add_windows("proc.mem.resident", {{"host", "h"}, {"pid", "2"}}, {{10, 10, 1}, {20, 10, 1}});
  Query query = all_of("proc.mem.resident");
  query.range = {kT0, kT0 + 25 * kSecond};
  query.downsample = parse_downsample("30s").value();
  query.group_by = {"pid"};
  Budget budget({});
  CHECK(shown(run_query(query, store, budget)[0].points) == "30:30");
  query.tags = {{"pid", {"1"}}};
  CHECK(shown(run_query(query, store, budget)[0].points) == "30:30");
}

}  // namespace
}  // namespace atalaya::query::test
