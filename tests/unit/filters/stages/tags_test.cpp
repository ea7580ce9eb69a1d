// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/tags/tags.h"

#include "tests/unit/filters/stages/fixture.h"

namespace atalaya::testing {

using tags::Tags;

TEST_CASE("tags copies, renames, drops and adds, in this order") {
  Bench<Tags> bench(table({{"copy", table({{"name", text("process")}})},
                           {"rename", table({{"process", text("command")}})},
                           {"drop", list({"p*", "!process"})},
                           {"add", table({{"team", text("data")}, {"pool", text("x")}})}}));
  CHECK(bench.process({"host=a pid=1 process=java | x.y=1"}) == Lines{"host=a command=java name=java pool=x team=data | x.y=1"});
}

TEST_CASE("tags: a key is never present twice") {
  Bench<Tags> bench(
      table({{"copy", table({{"a", text("b")}})}, {"rename", table({{"c", text("d")}})}, {"add", table({{"e", text("new")}})}}));
  CHECK(bench.process({"a=1 b=2 c=3 d=4 e=5 | x.y=1"}) == Lines{"a=2 b=2 d=3 e=new | x.y=1"});
  CHECK(bench.process({"d=4 c=3 | x.y=1"}) == Lines{"d=3 e=new | x.y=1"});
  CHECK(bench.process({"| x.y=1"}) == Lines{"e=new | x.y=1"});
  CHECK(bench.process({}).empty());
}

TEST_CASE("tags changes only the selected samples") {
  Bench<Tags> metric(table({{"add", table({{"t", text("1")}})}, {"metric", list({"sys.*"})}}));
  CHECK(metric.process({"h=a | proc.x=1", "h=a | proc.x=1 sys.y=1"}) == Lines{"h=a | proc.x=1", "h=a t=1 | proc.x=1 sys.y=1"});
  Bench<Tags> kind(table({{"add", table({{"t", text("1")}})}, {"kind", text("stack")}}));
  CHECK(kind.process({"h=a | proc.x=1", "stack f | h=a | p.s=1"}) == Lines{"h=a | proc.x=1", "stack f | h=a t=1 | p.s=1"});
}

TEST_CASE("tags leaves tags alone that other samples share") {
  Bench<Tags> bench(table({{"rename", table({{"process", text("command")}})}, {"metric", list({"a.*"})}}));
  bench.add("host=a process=java | a.x=1");
  bench.add("| b.x=1");
  auto *samples = bench.batch.raw().samples;
  samples[0].capacity = 0;
  samples[1].capacity = 0;
  samples[1].tags = samples[0].tags;
  samples[1].tag_count = samples[0].tag_count;
  bench.run();
  CHECK(bench.lines() == Lines{"host=a command=java | a.x=1", "host=a process=java | b.x=1"});
}

TEST_CASE("tags refuses rules that depend on their order") {
  CHECK(Bench<Tags>(table({{"copy", table({{"a", text("b")}, {"b", text("c")}})}}))
            .refused.find("parameter \"copy\": \"b\" is written by one rule and read by another; use two translators in a row") !=
        std::string::npos);
  CHECK(Bench<Tags>(table({{"rename", table({{"a", text("b")}, {"b", text("a")}})}})).refused.find("is in two rules") !=
        std::string::npos);
  CHECK(Bench<Tags>(table({{"rename", table({{"a", text("c")}, {"b", text("c")}})}})).refused.find("\"c\" is in two rules") !=
        std::string::npos);
  CHECK(Bench<Tags>(table({{"add", table({{"", text("c")}})}})).refused.find("is empty or too long") != std::string::npos);
}

}  // namespace atalaya::testing
