// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/jvms/text.h"

#include <doctest/doctest.h>

#include "tests/unit/analysis/jvms/two_hosts.h"

namespace atalaya::jvms {
namespace {

using test::TwoHosts;

struct Fixture {
  TwoHosts store;
  query::Budget budget{query::Limits{}};
  Overview overview = overview_of(store, {}, TwoHosts::range(0, 10), budget);
  Detail detail = detail_of(overview.functions[1], overview, store, {}, budget);  // app.Main work
};

TEST_CASE("jvms: a table") {
  Fixture fixture;
  CHECK(
      overview_table(fixture.overview, 20) ==
      "2023-11-14 22:00:00 to 2023-11-14 22:00:10 UTC: 3 JVMs on 2 hosts, of which 2 report, 25.0 thread dumps/s in all, over 10s\n"
      "\n"
      "host  pid  process  dumps/s  cost %  version  collector\n"
      "h1      1  shop       20.00    2.00  17.0.10  G1\n"
      "h2      2  java       10.00\n"
      "h2      3  zoo\n"
      "\n"
      "function                   cpu samples  share %  self s/s  share %\n"
      "app.Main hot                        60     60.0\n"
      "app.Main work                       30     30.0    0.6000     60.0\n"
      "[interpreted]                       10     10.0\n"
      "java.lang.String hashCode                          0.1000     10.0\n"
      "[not attributed]                                   0.3000     30.0\n"
      "\n"
      "cpu samples: by source perf, without bias; prefer them\n"
      "self s/s: seconds per second in the function, by thread dumps, bias=safepoint: inlined\n"
      "functions and loops without a safepoint count for the code that is called next\n"
      "20.0 % of the JVMs' cpu samples are not in Java: collectors, compilers, the JVM\n");
}

TEST_CASE("jvms: a table that is cut states that") {
  Fixture fixture;
  const std::string table = overview_table(fixture.overview, 1);
  CHECK(table.find("... and 2 more: --top\n\nfunction") != std::string::npos);
  CHECK(table.find("app.Main hot") != std::string::npos);
  CHECK(table.find("hashCode") == std::string::npos);
}

TEST_CASE("jvms: one function") {
  Fixture fixture;
  CHECK(
      detail_table(fixture.detail, fixture.overview, 20) ==
      "2023-11-14 22:00:00 to 2023-11-14 22:00:10 UTC: 3 JVMs on 2 hosts, of which 2 report, 25.0 thread dumps/s in all, over 10s\n"
      "\n"
      "function       cpu samples  share %  self s/s  share %\n"
      "app.Main work           30     30.0    0.6000     60.0\n"
      "\n"
      "most expensive stack, 70.0 % of all exemplars, in java with pid 2 on h2 (bias=safepoint)\n"
      "  app.Main work (Main.java:7)\n"
      "  app.Main b (Main.java:3)\n"
      "  java.lang.Thread run (Thread.java:833)\n"
      "\n"
      "called by          share %  cpu share %\n"
      "app.Main b            75.0        100.0\n"
      "app.Main a            20.0\n"
      "(start of thread)      5.0\n"
      "\n"
      "host  pid  process  self s/s\n"
      "h1      1  java       0.5000\n"
      "h2      2  java       0.1000\n"
      "\n"
      "cpu samples: by source perf, without bias; prefer them\n"
      "self s/s: seconds per second in the function, by thread dumps, bias=safepoint: inlined\n"
      "functions and loops without a safepoint count for the code that is called next\n");
}

TEST_CASE("jvms: JSON has the same, and the bias next to every figure of thread dumps") {
  Fixture fixture;
  const std::string all = overview_json(fixture.overview, 1);
  CHECK(all.find(
            R"("reporting":2,"rate":25,"jvms":[{"host":"h1","pid":"1","process":"shop","rate":20,"cost":2,"version":"17.0.10",)"
            R"("collector":"G1"},{"host":"h2","pid":"2","process":"java","rate":10},{"host":"h2","pid":"3","process":"zoo"}])") !=
        std::string::npos);
  CHECK(
      all.find(
          R"({"function":"app.Main work","dumps":{"bias":"safepoint","self":0.6,"share":0.6},"cpu":{"samples":30,"share":0.3}})") !=
      std::string::npos);
  CHECK(all.find(R"({"function":"app.Main hot","cpu":{"samples":60,"share":0.6}})") != std::string::npos);
  CHECK(
      all.ends_with("\"unattributed\":{\"dumps\":{\"bias\":\"safepoint\",\"self\":0.3,\"share\":0.3}},\"cpu\":{\"samples\":100,"
                    "\"outside\":25}}\n"));
  const std::string one = detail_json(fixture.detail, fixture.overview, 1);
  CHECK(
      one.find(
          R"x("exemplar":{"bias":"safepoint","host":"h2","pid":"2","process":"java","share":0.7,"trace":["app.Main work (Main.java:7)",)x") !=
      std::string::npos);
  CHECK(one.find(R"("callers":[{"function":"app.Main b","dumps":{"bias":"safepoint","share":0.75},"cpu":{"share":1}}])") !=
        std::string::npos);
}

TEST_CASE("jvms: unknown values are not shown") {
  Overview overview;
  overview.range = TwoHosts::range(0, 10);
  overview.jvms.push_back({.host = "h", .pid = "1", .process = "a\nb"});
  CHECK(overview_table(overview, 20) ==
        "2023-11-14 22:00:00 to 2023-11-14 22:00:10 UTC: 1 JVM on 1 host, no thread dumps\n\nhost  pid  process\nh       1  "
        "a\\x0ab\n");
  CHECK(overview_json(overview, 20).find("rate") == std::string::npos);
}

}  // namespace
}  // namespace atalaya::jvms
