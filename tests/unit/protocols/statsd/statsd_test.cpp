// SPDX-License-Identifier: Apache-2.0
// Each rule of statsd's protocol and of DogStatsD's additions.
#include <doctest/doctest.h>

#include "tests/unit/protocols/statsd/statsd_text.h"

namespace atalaya::protocols::testing {

TEST_CASE("statsd: a counter is the sum of its values divided by their rates, a delta") {
  const StatsdResult result = read_statsd({"hits:3|c", "hits:-1|c\nhits:2|c|@0.5"});
  CHECK(result.lines == Lines{"hits{} 6"});
  CHECK(result.kinds.at("hits") == ATALAYA_DELTA);
  CHECK(result.accepted == 3);
}

TEST_CASE("statsd: a gauge is its last value; a sign changes it, across windows, too") {
  const auto protocol = make_statsd();
  protocol->add("depth:5|g\ndepth:7|g\ndepth:-2|g");
  const StatsdResult first = end_window(*protocol);
  CHECK(first.lines == Lines{"depth{} 5"});
  CHECK(first.kinds.at("depth") == ATALAYA_GAUGE);
  protocol->add("depth:+3|g");
  CHECK(end_window(*protocol).lines == Lines{"depth{} 8"});
  CHECK(end_window(*protocol).lines.empty());
}

TEST_CASE("statsd: timers, histograms and distributions have a count, a sum and the extremes") {
  for (const char *type : {"ms", "h", "d"}) {
    const StatsdResult result = read_statsd({std::string("t:4|") + type, std::string("t:1|") + type + "|@0.5"});
    CHECK(result.lines == Lines{"t.count{} 3", "t.max{} 4", "t.min{} 1", "t.sum{} 6"});
    CHECK(result.kinds.at("t.count") == ATALAYA_DELTA);
    CHECK(result.kinds.at("t.max") == ATALAYA_GAUGE);
  }
}

TEST_CASE("statsd: a set is the number of its different members") {
  CHECK(read_statsd({"users:alice|s", "users:bob|s", "users:alice|s"}).lines == Lines{"users{} 2"});
}

TEST_CASE("statsd: several values share a type, a rate and tags") {
  CHECK(read_statsd({"page.time:3:6:4|h|#env:dev"}).lines ==
        Lines{"page.time.count{env=dev} 3", "page.time.max{env=dev} 6", "page.time.min{env=dev} 3", "page.time.sum{env=dev} 13"});
  CHECK(read_statsd({"hits:1:2|c"}).lines == Lines{"hits{} 3"});
  CHECK(read_statsd({"hits:1:2|c|@0.5"}).lines == Lines{"hits{} 6"});
  CHECK(read_statsd({"depth:5:7:-1|g"}).lines == Lines{"depth{} 6"});
}

TEST_CASE("statsd: a member of a set may contain colons") {
  CHECK(read_statsd({"users:a:1|s", "users:a:2|s", "users:a:1|s"}).lines == Lines{"users{} 2"});
}

TEST_CASE("statsd: several values with their own types and rates") {
  CHECK(read_statsd({"old.time:3|ms:6|ms:4|ms"}).lines ==
        Lines{"old.time.count{} 3", "old.time.max{} 6", "old.time.min{} 3", "old.time.sum{} 13"});
  CHECK(read_statsd({"hits:3|c:6|c"}).lines == Lines{"hits{} 9"});
  CHECK(read_statsd({"hits:3|c|@0.5:6|c"}).lines == Lines{"hits{} 12"});
}

TEST_CASE("statsd: the order and repetition of tags are without meaning") {
  CHECK(read_statsd({"a:1|c|#x:1,y:2", "a:1|c|#y:2,x:1", "a:1|c|#x:1,,y:2,x:1"}).lines == Lines{"a{x=1,y=2} 3"});
}

TEST_CASE("statsd: a tag without a value is true, and a value may contain colons") {
  CHECK(read_statsd({"a:1|c|#ready,url:http://x:80"}).lines == Lines{"a{ready=true,url=http://x:80} 1"});
}

TEST_CASE("statsd: sections in any order; others are ignored") {
  CHECK(read_statsd({"a:1|c|#x:1|@0.5|c:in-12:3|T1795219532|e:it-false"}).lines == Lines{"a{x=1} 2"});
}

TEST_CASE("statsd: each refused value is counted with its reason, and those next to it arrive") {
  const StatsdResult result = read_statsd({
      "a:1:x:3:|c",           // 2 values, 2 refused
      "b:1|q\nc:2|c\r\nd",    // an unknown type; no name
      "e:1:2|c|@0:7|c",       // a wrong rate
      "f:nan|g\n:1|c\nc:1|g"  // no number; no name; another type
  });
  CHECK(result.lines == Lines{"a{} 4", "c{} 2", "e{} 7"});
  CHECK(result.accepted == 4);
  CHECK(result.refusals == Refusals{{"the value of statsd is no finite number", 3},
                                    {"the type of statsd is not known", 1},
                                    {"a line of statsd is not NAME:VALUE|TYPE", 2},
                                    {"the rate of statsd is not above 0 and at most 1", 2},
                                    {"the name has another type in this window of statsd", 1}});
}

TEST_CASE("statsd: more than 64 tags are refused, not cut") {
  std::string line = "a:1|c|#";
  for (int i = 0; i < 65; ++i) line += "t" + std::to_string(i) + ":1,";
  const StatsdResult result = read_statsd({line, "a:1|c"});
  CHECK(result.lines == Lines{"a{} 1"});
  CHECK(result.refusals == Refusals{{"the name of statsd has more than 1024 bytes or 64 tags", 1}});
}

TEST_CASE("statsd: a value of another kind than the metric is refused") {
  class OtherKind final : public RecordReceiver {
    bool take(const Record &) override { return true; }
    bool declare(std::string_view, const atalaya_metric_info &info) override { return info.kind == ATALAYA_TOTAL; }
  } receiver;
  const auto protocol = make_statsd();
  protocol->add("a:1|c");
  const Account account = protocol->take(0, 10)->read({.details = true}, receiver);
  CHECK(account.good == 0);
  CHECK(account.failed == 1);
  CHECK(account.errors.find(kOtherKind) != std::string::npos);
}

TEST_CASE("statsd: datagrams of the Python client statsd") {
  CHECK(read_statsd({fixture("statsd/statsd-client.txt")}).lines == Lines{"below{} -5", "depth{} 5", "hits{} 3", "load.count{} 2",
                                                                          "load.max{} 12.5", "load.min{} 7", "load.sum{} 19.5",
                                                                          "piped{} 2", "users{} 2"});
}

TEST_CASE("statsd: datagrams of Datadog's own client") {
  const StatsdResult result = read_statsd({fixture("statsd/datadog.txt")});
  CHECK(result.refused() == 0);
  CHECK(result.lines == Lines{"page.size.count{} 1", "page.size.max{} 300", "page.size.min{} 300", "page.size.sum{} 300",
                              "page.time.count{env=dev,region=eu} 1", "page.time.max{env=dev,region=eu} 0.25",
                              "page.time.min{env=dev,region=eu} 0.25", "page.time.sum{env=dev,region=eu} 0.25",
                              "page.views{env=dev,region=eu} 2", "queue{standalone=true} 4", "render.count{} 1", "render.max{} 11",
                              "render.min{} 11", "render.sum{} 11", "visitors{} 1"});
}

}  // namespace atalaya::protocols::testing
