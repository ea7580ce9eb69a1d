// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/match/match_filter.h"

#include "tests/unit/filters/stages/fixture.h"

namespace atalaya::testing {

using match::MatchFilter;

TEST_CASE("match: all tags must match, of a tag's patterns one") {
  Bench<MatchFilter> bench(table({{"process", list({"java*", "~^exec"})}, {"host", list({"!test*"})}}));
  CHECK(bench.process({"host=a process=java | x.y=1", "host=test1 process=java | x.y=1", "host=a process=executor | x.y=1",
                       "host=a process=bash | x.y=1"}) == Lines{"host=a process=java | x.y=1", "host=a process=executor | x.y=1"});
}

TEST_CASE("match: a sample without the tag fails a pattern that wants a value") {
  const Lines in = {"host=a | x.y=1"};
  CHECK(Bench<MatchFilter>(table({{"process", list({"*"})}})).process(in).empty());
  CHECK(Bench<MatchFilter>(table({{"process", list({"!java"})}})).process(in) == in);
  CHECK(Bench<MatchFilter>(table({{"process", list({"java"})}, {"absent", text("pass")}})).process(in) == in);
}

TEST_CASE("match: fields that do not match go, and samples left empty with them") {
  Bench<MatchFilter> bench(table({{"metric", list({"sys.*", "!sys.swap.*"})}}));
  CHECK(bench.process({"h=1 | sys.cpu=1 proc.cpu=2 sys.mem=3i sys.swap.in=4", "h=2 | proc.cpu=2", "h=3 | sys.mem=5"}) ==
        Lines{"h=1 | sys.cpu=1 sys.mem=3i", "h=3 | sys.mem=5"});
}

TEST_CASE("match leaves fields alone that other samples share") {
  Bench<MatchFilter> bench(table({{"metric", list({"sys.*"})}}));
  bench.add("h=1 | proc.cpu=2 sys.mem=3");
  bench.add("h=2 |");
  auto *samples = bench.batch.raw().samples;
  samples[0].capacity = 0;
  samples[1].capacity = 0;
  samples[1].fields = samples[0].fields;
  samples[1].field_count = samples[0].field_count;
  bench.run();
  CHECK(bench.lines() == Lines{"h=1 | sys.mem=3", "h=2 | sys.mem=3"});
}

TEST_CASE("match: one pattern needs no braces") {
  Bench<MatchFilter> bench(table({{"process", text("java*")}, {"metric", text("sys.*")}}));
  CHECK(bench.process({"process=javac | sys.x=1 p.y=2", "process=bash | sys.x=1"}) == Lines{"process=javac | sys.x=1"});
}

TEST_CASE("match by kind") {
  const Lines in = {"h=1 | x.y=1", "stack a;b | h=1 | p.s=1i", "span sort | h=1 |"};
  CHECK(Bench<MatchFilter>(table({{"kind", text("metrics")}})).process(in) == Lines{in[0]});
  CHECK(Bench<MatchFilter>(table({{"kind", text("stack")}})).process(in) == Lines{in[1]});
  CHECK(Bench<MatchFilter>(table({{"kind", text("span")}})).process(in) == Lines{in[2]});
}

TEST_CASE("match refuses a bad pattern by the parameter's name") {
  CHECK(Bench<MatchFilter>(table({{"process", list({"~("})}})).refused.find("parameter \"process\": regular expression \"(\"") !=
        std::string::npos);
  CHECK(Bench<MatchFilter>(table({{"process", list({})}})).refused.find("has no pattern") != std::string::npos);
}

}  // namespace atalaya::testing
