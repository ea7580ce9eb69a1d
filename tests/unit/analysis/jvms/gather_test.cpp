// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jvms/gather.h"

#include <doctest/doctest.h>

#include "tests/unit/analysis/jvms/two_hosts.h"

namespace atalaya::jvms {
namespace {

using test::TwoHosts;

Overview overview(TwoHosts &store, const std::vector<store::TagFilter> &tags = {}, int from = 0, int to = 10) {
  query::Budget budget({});
  return overview_of(store, tags, TwoHosts::range(from, to), budget);
}
Detail detail(TwoHosts &store, const std::string &name) {
  query::Budget budget({});
  const Overview all = overview_of(store, {}, TwoHosts::range(0, 10), budget);
  for (const Function &function : all.functions)
    if (function.name == name) return detail_of(function, all, store, {}, budget);
  FAIL("there is no function " << name);
  return {};
}
const Function &find(const Overview &overview, const std::string &name) {
  for (const Function &function : overview.functions)
    if (function.name == name) return function;
  FAIL("there is no function " << name);
  return overview.functions.front();
}

TEST_CASE("jvms: those that report, and how often") {
  TwoHosts store;
  const Overview all = overview(store);
  REQUIRE(all.jvms.size() == 3);
  CHECK(all.reporting == 2);
  CHECK(all.covered_seconds == doctest::Approx(10));
  CHECK(all.rate == doctest::Approx((10 * 20 + 5 * 10) / 10.0));
  CHECK(all.jvms[0].host == "h1");
  CHECK(all.jvms[0].process == "shop");  // the name of its last window
  CHECK(*all.jvms[0].rate == doctest::Approx(20));
  CHECK(*all.jvms[0].cost == doctest::Approx(2));
  CHECK(all.jvms[0].version == "17.0.10");
  CHECK(all.jvms[0].collector == "G1");
  CHECK(*all.jvms[1].rate == doctest::Approx(10));  // while it was profiled, which is half of the time
  CHECK(all.jvms[1].version.empty());
  CHECK_FALSE(all.jvms[2].rate);  // shows its heap only
  CHECK_FALSE(all.jvms[2].cost);
}

TEST_CASE("jvms: functions by self time over all hosts, next to samples of CPUs") {
  TwoHosts store;
  const Overview all = overview(store);
  REQUIRE(all.functions.size() == 4);
  const Function &work = find(all, "app.Main work"), &hash = find(all, "java.lang.String hashCode");
  CHECK(all.functions[0].name == "app.Main hot");  // by samples, which have no bias
  CHECK(*all.unattributed_share == doctest::Approx(0.3));
  CHECK(work.name == "app.Main work");
  CHECK(*work.self == doctest::Approx((0.5 * 10 + 0.2 * 5) / 10));
  CHECK(*work.self_share == doctest::Approx(6.0 / 10));  // threads took 100 % of a core for 10 s
  CHECK(*work.samples == 30);
  CHECK(*work.samples_share == doctest::Approx(0.3));
  CHECK(hash.name == "java.lang.String hashCode");
  CHECK(*hash.self == doctest::Approx(0.1));
  CHECK_FALSE(hash.samples);
  CHECK(find(all, "app.Main hot").samples == 60);  // without safepoints: no dump sees it
  CHECK_FALSE(find(all, "app.Main hot").self);
  CHECK(find(all, "[interpreted]").samples == 10);
  CHECK(all.java_samples == 100);
  CHECK(all.other_samples == 25);  // node and other programs are none of it
}

TEST_CASE("jvms: without the total of all threads, shares are of the reported time") {
  TwoHosts store(false);
  CHECK(*find(overview(store), "app.Main work").self_share == doctest::Approx(6.0 / 7));
}

TEST_CASE("jvms: a time without dumps, and a store without anything") {
  TwoHosts store;
  const Overview none = overview(store, {}, 100, 110);
  CHECK(none.jvms.empty());
  CHECK(none.reporting == 0);
  CHECK(none.covered_seconds == 0);
  query::test::MemoryStore empty;
  query::Budget budget({});
  CHECK(overview_of(empty, {}, TwoHosts::range(0, 10), budget).functions.empty());
}

TEST_CASE("jvms: only a host") {
  TwoHosts store;
  const Overview all = overview(store, {{"host", {"h2"}}});
  REQUIRE(all.jvms.size() == 2);
  CHECK(all.covered_seconds == doctest::Approx(5));
  CHECK(*find(all, "app.Main work").self == doctest::Approx(0.2));
}

TEST_CASE("jvms: the first of each profile") {
  TwoHosts store;
  const std::vector<Function> first = top_functions(overview(store).functions, 1);
  REQUIRE(first.size() == 2);
  CHECK(first[0].name == "app.Main hot");
  CHECK(first[1].name == "app.Main work");
  CHECK(top_functions(overview(store).functions, 100).size() == 4);
}

TEST_CASE("jvms: a function's stack with most time, over windows and hosts") {
  TwoHosts store;
  const Detail work = detail(store, "app.Main work");
  REQUIRE(work.exemplar);
  CHECK(work.exemplar->lines == std::vector<std::string>{"app.Main work (Main.java:7)", "app.Main b (Main.java:3)",
                                                         "java.lang.Thread run (Thread.java:833)"});
  CHECK(work.exemplar->share == doctest::Approx(0.7));
  CHECK(work.exemplar->host == "h2");
  CHECK_FALSE(detail(store, "app.Main hot").exemplar);
}

TEST_CASE("jvms: callers of a function, and the places where it runs") {
  TwoHosts store;
  const Detail work = detail(store, "app.Main work");
  REQUIRE(work.callers.size() == 3);
  CHECK(work.callers[0].name == "app.Main b");
  CHECK(*work.callers[0].self_share == doctest::Approx(0.75));
  CHECK(*work.callers[0].samples_share == doctest::Approx(1));
  CHECK(work.callers[1].name == "app.Main a");
  CHECK(*work.callers[1].self_share == doctest::Approx(0.2));
  CHECK_FALSE(work.callers[1].samples_share);
  CHECK(work.callers[2].name.empty());
  REQUIRE(work.jvms.size() == 2);
  CHECK(work.jvms[0].host == "h1");
  CHECK(work.jvms[0].self == doctest::Approx(0.5));
}

}  // namespace
}  // namespace atalaya::jvms
