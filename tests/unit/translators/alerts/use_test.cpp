// SPDX-License-Identifier: Apache-2.0
// What fires, and when it ends.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/translators/alerts/rules.h"

namespace atalaya::alerts::test {
namespace {

TEST_CASE("an alert fires above its limit, after the time that the condition must last, and ends at its second limit") {
  AlertsBench bench(rules({rule("high", "x", {{"above", number(10)}, {"clear", number(8)}, {"lasts", text("2s")}})}));
  CHECK(step(bench, 0, {"host=a | x=11"}).empty());
  CHECK(step(bench, 1, {"host=a | x=10.5"}).empty());
  CHECK(step(bench, 2, {"host=a | x=12"}) == Lines{"high host=a 0.. v=12"});
  CHECK(step(bench, 3, {"host=a | x=9"}).empty());  // between the limits
  CHECK(step(bench, 4, {"host=a | x=8"}) == Lines{"high host=a 0..4 v=8"});
  CHECK(step(bench, 5, {"host=a | x=11"}).empty());
  CHECK(step(bench, 6, {"host=a | x=9"}).empty());  // it did not last
  CHECK(step(bench, 7, {"host=a | x=11"}).empty());
  CHECK(step(bench, 9, {"host=a | x=11"}) == Lines{"high host=a 7.. v=11"});
}

// A window may come in several batches.
TEST_CASE("the translator's own metrics are given once per window") {
  AlertsBench bench(rules({rule("high", "x", {{"above", number(10)}})}));
  const auto count = [](const Lines &lines) {
    return std::count_if(lines.begin(), lines.end(),
                         [](const std::string &line) { return line.find("alerts.cost=") != line.npos; });
  };
  CHECK(count(bench.process({"host=a | x=1"}, 0)) == 1);
  CHECK(count(bench.process({"host=b | x=1"}, 0)) == 0);
  CHECK(count(bench.process({"host=a | x=1"}, 1)) == 1);
}

TEST_CASE("an alert that fires is repeated, and ends only after the time without the condition") {
  AlertsBench bench(rules({rule("low", "x", {{"below", number(5)}, {"keep", text("3s")}})}, {{"repeat", text("2s")}}));
  CHECK(step(bench, 0, {"host=a | x=1"}) == Lines{"low host=a 0.. v=1"});
  CHECK(step(bench, 1, {"host=a | x=1"}).empty());
  CHECK(step(bench, 3, {"host=a | x=2"}) == Lines{"low host=a 0.. v=2"});
  CHECK(step(bench, 4, {"host=a | x=9"}).empty());
  CHECK(step(bench, 5, {"host=a | x=4"}) == Lines{"low host=a 0.. v=4"});
  CHECK(step(bench, 6, {"host=a | x=9"}).empty());
  CHECK(step(bench, 9, {"host=a | x=9"}) == Lines{"low host=a 0..6 v=9"});
}

TEST_CASE("series of one group are combined; each series is an alert without by") {
  const Lines in = {"host=a disk=1 | x=6", "host=a disk=2 | x=7", "host=b disk=1 | x=6"};
  AlertsBench each(rules({rule("r", "x", {{"above", number(6.5)}})}));
  CHECK(step(each, 0, in) == Lines{"r disk=2 host=a 0.. v=7"});
  AlertsBench sum(rules({rule("r", "x", {{"above", number(10)}, {"by", list({"host"})}})}));
  CHECK(step(sum, 0, in) == Lines{"r host=a 0.. v=13"});
  AlertsBench mean(rules({rule("r", "x", {{"below", number(6.5)}, {"by", list({"host"})}, {"combine", text("mean")}})}));
  CHECK(step(mean, 0, in) == Lines{"r host=b 0.. v=6"});
}

TEST_CASE("only series with the tags") {
  AlertsBench bench(rules({rule("r", "x", {{"above", number(1)}, {"tags", table({{"disk", text("!loop*")}})}})}));
  CHECK(step(bench, 0, {"disk=loop1 | x=9", "disk=sda | x=9", "host=a | x=9"}) == Lines{"r disk=sda 0.. v=9", "r host=a 0.. v=9"});
}

TEST_CASE("a ratio is in per cent, and absent without its divisor") {
  AlertsBench bench(rules({rule("r", "used", {{"per", text("size")}, {"above", number(90)}})}));
  CHECK(step(bench, 0, {"disk=a | used=95 size=100", "disk=b | used=95", "disk=c | used=5 size=0"}) == Lines{"r disk=a 0.. v=95"});
  CHECK(step(bench, 1, {"disk=b | used=95", "disk=b | size=99"}) == Lines{"r disk=b 1.. v=95.9596"});
}

TEST_CASE("a series that is absent fires, and one that was never seen, too") {
  AlertsBench bench(rules({rule("r", "x", {{"absent", text("3s")}, {"by", list({"host"})}})}));
  CHECK(step(bench, 0, {}).empty());
  CHECK(step(bench, 2, {}).empty());
  CHECK(step(bench, 3, {}) == Lines{"r 0.. v=3"});
  CHECK(step(bench, 4, {"host=a | x=1", "host=b | x=1"}) == Lines{"r 0..4 v=3"});
  CHECK(step(bench, 6, {"host=a | x=1"}).empty());
  CHECK(step(bench, 7, {"host=a | x=1"}) == Lines{"r host=b 4.. v=3"});
  CHECK(step(bench, 9, {"host=b | x=1"}) == Lines{"r host=b 4..9 v=3"});
}

TEST_CASE("no condition lasts, and no series is absent, while nothing was collected") {
  // A suspend of an hour, or a clock that was set ahead.
  AlertsBench fires(rules({rule("r", "x", {{"above", number(1)}, {"lasts", text("5s")}, {"keep", text("5s")}})}));
  CHECK(step(fires, 0, {"a=1 | x=9"}).empty());
  CHECK(step(fires, 2, {"a=1 | x=9"}).empty());
  CHECK(resume(fires, 3602, {"a=1 | x=9"}).empty());
  CHECK(step(fires, 3604, {"a=1 | x=9"}).empty());
  CHECK(step(fires, 3605, {"a=1 | x=9"}) == Lines{"r a=1 0.. v=9"});
  CHECK(step(fires, 3606, {"a=1 | x=0"}).empty());
  CHECK(resume(fires, 7200, {"a=1 | x=0"}) == Lines{"r a=1 0.. v=0"});  // repeated, and not ended
  CHECK(step(fires, 7204, {"a=1 | x=0"}).empty());
  CHECK(step(fires, 7205, {"a=1 | x=0"}) == Lines{"r a=1 0..3606 v=0"});

  AlertsBench absent(rules({rule("r", "x", {{"absent", text("3s")}, {"by", list({"host"})}})}));
  CHECK(step(absent, 0, {"host=a | x=1"}).empty());
  CHECK(resume(absent, 1000, {}).empty());
  CHECK(step(absent, 1002, {}).empty());
  CHECK(step(absent, 1003, {}) == Lines{"r host=a 0.. v=3"});

  AlertsBench ends(rules({rule("r", "x", {{"above", number(1)}, {"gone", text("5s")}})}));
  CHECK(step(ends, 0, {"pid=1 | x=9"}) == Lines{"r pid=1 0.. v=9"});
  CHECK(resume(ends, 1000, {}) == Lines{"r pid=1 0.. v=9"});
  CHECK(step(ends, 1004, {}).empty());
  CHECK(step(ends, 1005, {}) == Lines{"r pid=1 0..1005 v=9"});
}

TEST_CASE("means and sums look back over collected time") {
  AlertsBench mean(rules({rule("r", "x", {{"use", text("mean")}, {"over", text("10s")}, {"above", number(1)}})}));
  CHECK(step(mean, 0, {"a=1 | x=9"}).empty());
  CHECK(resume(mean, 8, {"a=1 | x=9"}).empty());  // of ten seconds none was collected
  CHECK(step(mean, 12, {"a=1 | x=9"}).empty());
  CHECK(step(mean, 13, {"a=1 | x=9"}) == Lines{"r a=1 13.. v=9"});

  AlertsBench sum(
      rules({rule("r", "exits", {{"use", text("sum")}, {"over", text("10s")}, {"above", number(2)}, {"gone", text("1s")}})}));
  CHECK(step(sum, 0, {"a=1 | exits=3i"}) == Lines{"r a=1 0.. v=3"});
  CHECK(resume(sum, 1000, {}) == Lines{"r a=1 0.. v=3"});
  CHECK(step(sum, 1009, {}).empty());
  CHECK(step(sum, 1010, {}) == Lines{"r a=1 0..1010 v=3"});
}

TEST_CASE("batches that arrive without windows have no gaps") {
  AlertsBench bench(rules({rule("r", "x", {{"above", number(1)}, {"lasts", text("5s")}})}));
  const auto arrive = [&](int64_t second) {
    static_cast<Bench<Alerts> &>(bench).process({"a=1 | x=9"}, arrival_at(second));
    return alerts_of(bench);
  };
  CHECK(arrive(0).empty());
  CHECK(arrive(4).empty());
  CHECK(arrive(5) == Lines{"r a=1 0.. v=9"});
}

TEST_CASE("a series that ends takes its alert along") {
  AlertsBench bench(rules({rule("r", "x", {{"above", number(1)}, {"gone", text("5s")}})}));
  CHECK(step(bench, 0, {"pid=1 | x=9"}) == Lines{"r pid=1 0.. v=9"});
  CHECK(step(bench, 4, {}).empty());
  CHECK(step(bench, 5, {}) == Lines{"r pid=1 0..5 v=9"});
  CHECK(step(bench, 6, {}).empty());
}

TEST_CASE("a disk that fills up fires before it is full; a full one that empties does not") {
  const auto rule_of = [] {
    return rules({rule("full", "free",
                       {{"use", text("forecast")}, {"over", text("100s")}, {"ahead", text("1000s")}, {"below", number(0)}})});
  };
  AlertsBench bench(rule_of());
  Lines first;
  int64_t fired = -1;
  for (int64_t second = 0; second < 200 && fired < 0; second += 5)
    if (const Lines found = step(bench, second,
                                 {"disk=a | free=" + std::to_string(5000.0 - 6.0 * static_cast<double>(second)),
                                  "disk=b | free=5000", "disk=c | free=" + std::to_string(second * 3 + 1)});
        !found.empty()) {
      first = found;
      fired = second;
    }
  // At 6 per second it is full after 833 s: that is less than 1000 s after each time; half of `over` is needed.
  CHECK(fired == 50);
  REQUIRE(first.size() == 1);
  CHECK(first[0].starts_with("full disk=a 50.. v=-1300"));
}

TEST_CASE("rates are changes per second; a reset of a counter is none") {
  AlertsBench bench(rules({rule("fast", "n", {{"use", text("rate")}, {"over", text("10s")}, {"above", number(2)}})}));
  for (int64_t second = 0; second < 30; ++second)
    CHECK(step(bench, second, {"a=1 | n=" + std::to_string((second % 15) * 2)}).empty());
  Lines found;
  for (int64_t second = 30; second < 40; ++second)
    for (const std::string &line : step(bench, second, {"a=1 | n=" + std::to_string(100 + second * 5)})) found.push_back(line);
  CHECK(found.size() == 1);
}

// A queue with a slow server: two of three readings are lower than the one before.
TEST_CASE("the rate of a gauge goes on through decreases") {
  const auto fired = [](uint32_t kind) {
    AlertsBench bench(rules({rule("grows", "n", {{"use", text("rate")}, {"over", text("30s")}, {"above", number(2)}})}));
    bench.symbols.declare("n", {sizeof(atalaya_metric_info), kind, -1, 0, {"1", 1}, {}, {}}, "a test");
    Lines found;
    for (int64_t second = 0; second < 60; ++second)
      for (const std::string &line : step(bench, second, {"a=1 | n=" + std::to_string(second * 5 - second % 3 * 10) + "i"}))
        found.push_back(line);
    return found;
  };
  CHECK(fired(ATALAYA_GAUGE).size() == 1);
  CHECK(fired(ATALAYA_TOTAL).empty());
}

TEST_CASE("sums of events fall again without samples") {
  AlertsBench bench(rules(
      {rule("restarts", "exits", {{"use", text("sum")}, {"over", text("31s")}, {"above", number(2)}, {"gone", text("5s")}})}));
  CHECK(step(bench, 0, {"process=p | exits=1i"}).empty());
  CHECK(step(bench, 10, {"process=p | exits=1i"}).empty());
  CHECK(step(bench, 20, {"process=p | exits=1i"}) == Lines{"restarts process=p 20.. v=3"});
  CHECK(step(bench, 30, {}).empty());
  CHECK(step(bench, 31, {}) == Lines{"restarts process=p 20..31 v=3"});
  CHECK(step(bench, 52, {}).empty());
}

TEST_CASE("a constant series is never an anomaly, a jump is one") {
  const auto rule_of = [] {
    return rules({rule("odd", "x", {{"use", text("anomaly")}, {"over", text("62s")}, {"above", number(6)}})});
  };
  AlertsBench constant(rule_of());
  for (int64_t second = 0; second < 200; ++second) CHECK(step(constant, second, {"a=1 | x=5", "a=2 | x=0"}).empty());
  AlertsBench jump(rule_of());
  for (int64_t second = 0; second < 100; ++second)
    CHECK(step(jump, second, {"a=1 | x=" + std::to_string(50 + second * 7 % 5)}).empty());
  CHECK(step(jump, 100, {"a=1 | x=90"}).size() == 1);
}

TEST_CASE("a host that is slower than its peers") {
  AlertsBench bench(rules({rule("slow", "t", {{"use", text("peers")}, {"above", number(2)}, {"by", list({"host"})}})}));
  CHECK(step(bench, 0, {"host=a | t=9"}).empty());
  CHECK(step(bench, 1, {"host=a | t=1", "host=b | t=1.2", "host=c | t=0.9", "host=d | t=4"}) == Lines{"slow host=d 1.. v=3.33333"});
}

TEST_CASE("hosts that all become slower in one batch are no slower than their peers, in any order") {
  AlertsBench bench(rules({rule("slow", "t", {{"use", text("peers")}, {"above", number(2)}, {"by", list({"host"})}})}));
  CHECK(step(bench, 0, {"host=a | t=1", "host=b | t=1", "host=c | t=1", "host=d | t=1"}).empty());
  CHECK(step(bench, 1, {"host=a | t=10", "host=b | t=10", "host=c | t=10", "host=d | t=10"}).empty());
  CHECK(step(bench, 2, {"host=d | t=90", "host=c | t=30", "host=b | t=30", "host=a | t=30"}) == Lines{"slow host=d 2.. v=3"});
}

TEST_CASE("values that are not finite are no values") {
  AlertsBench bench(rules({rule("r", "x", {{"above", number(1)}})}));
  CHECK(step(bench, 0, {"a=1 | x=nan", "a=2 | x=inf"}).empty());
}

TEST_CASE("a silenced alert is not reported, and is reported if it still fires afterwards") {
  // kWindowTime is 2023-11-14T22:13:20Z.
  AlertsBench bench(rules(
      {rule("r", "x", {{"above", number(1)}})},
      {{"silences",
        list_of({table({{"alert", text("r*")}, {"until", text("2023-11-14T22:13:23Z")}, {"tags", table({{"a", text("1")}})}})})}}));
  CHECK(step(bench, 0, {"a=1 | x=9", "a=2 | x=9"}) == Lines{"r a=2 0.. v=9"});
  CHECK(step(bench, 1, {"a=1 | x=0"}).empty());
  CHECK(step(bench, 2, {"a=1 | x=9"}).empty());
  CHECK(step(bench, 3, {"a=1 | x=9"}) == Lines{"r a=1 2.. v=9"});
}

TEST_CASE("series beyond the maximum are counted and named once") {
  AlertsBench bench(rules({rule("r", "x", {{"above", number(1)}})}, {{"max_series", integer(2)}}));
  CHECK(step(bench, 0, {"a=1 | x=9", "a=2 | x=9", "a=3 | x=9"}).size() == 2);
  CHECK(bench.surroundings.logged.find("more than 2 series of all rules") != std::string::npos);
  CHECK(bench.lines().back().find("alerts.lost=1i") != std::string::npos);
}

TEST_CASE("samples pass unchanged, and what is added is counted") {
  AlertsBench bench(rules({rule("r", "x", {{"above", number(1)}})}));
  const Lines in = {"a=1 | x=9", "span s | a=1 | x=9", "stack m;n | a=1 | x=9"};
  const Lines out = bench.process(in, 0);
  REQUIRE(out.size() == in.size() + 2);
  CHECK(Lines(out.begin(), out.begin() + 3) == Lines{"a=1 | x=9", "span s | a=1 | x=9", "stack m;n | a=1 | x=9"});
  CHECK(bench.surroundings.created == 2);
}

TEST_CASE("samples = false passes alerts only, and counts the rest itself") {
  AlertsBench bench(rules({rule("high", "x", {{"above", number(10)}})}, {{"samples", boolean(false)}}));
  CHECK(bench.process({"host=a | x=5", "host=b | x=1"}, 0).empty());
  CHECK(step(bench, 1, {"host=a | x=11", "host=b | x=1"}) == std::vector<std::string>{"high host=a 1.. v=11"});
  CHECK(bench.batch.count() == 1);
  CHECK(step(bench, 2, {"host=a | x=9"}) == std::vector<std::string>{"high host=a 1..2 v=9"});
  CHECK(bench.batch.count() == 1);
  CHECK(bench.surroundings.dropped == 5);
}

}  // namespace
}  // namespace atalaya::alerts::test
