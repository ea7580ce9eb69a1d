// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/opentsdb/opentsdb.h"

#include <doctest/doctest.h>

#include <cmath>

namespace atalaya::serve {
namespace {

using Patterns = std::vector<std::string>;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1'700'000'000 * kSecond;

std::string error_of(const Request &request) {
  try {
    read_opentsdb(request, kNow);
  } catch (const query::Wrong &wrong) {
    return wrong.what();
  }
  return "";
}

TEST_CASE("m= names aggregator, downsampling, rate, metric, and tags that group or not") {
  const query::Query query = read_m("sum:10s-avg-zero:rate{counter,100,20}:proc.cpu.user{host=*,process=a|b}{pid=regexp(^1)}");
  CHECK(query.aggregator.name == "sum");
  CHECK(query.metrics == Patterns{"proc.cpu.user"});
  CHECK(query.downsample->interval_ns == 10 * kSecond);
  CHECK(query.downsample->fill == query::Fill::zero);
  CHECK(query.rate->counter);
  CHECK(query.rate->largest == 100);
  CHECK(query.rate->reset_value == 20);
  CHECK(query.edge == query::Edge::start);
  REQUIRE(query.tags.size() == 3);
  CHECK(query.tags[0].patterns == Patterns{"*"});
  CHECK(query.tags[1].patterns == Patterns{"a", "b"});
  CHECK(query.tags[2].patterns == Patterns{"~^1"});
  CHECK(query.group_by == Patterns{"host", "process"});
  CHECK_FALSE(read_m("none:a").group);
  CHECK_FALSE(read_m("sum:rate:a").rate->counter);
}

TEST_CASE("filters become patterns; special characters of patterns are text here") {
  const auto patterns = [](const std::string &tag) { return read_m("sum:a{}{t=" + tag + "}").tags[0].patterns; };
  CHECK(patterns("literal_or(a?|!b)") == Patterns{"a\\?", "\\!b"});
  CHECK(patterns("not_literal_or(a|b)") == Patterns{"!a", "!b"});
  CHECK(patterns("wildcard(web*[1])") == Patterns{"web*\\[1\\]"});
  CHECK(patterns("iliteral_or(aB.)") == Patterns{"~^[aA][bB]\\.$"});
  CHECK(patterns("iwildcard(a*)") == Patterns{"~^[aA].*$"});
}

TEST_CASE("a query in JSON is the same") {
  Request request;
  request.method = "POST";
  request.body =
      R"({"start":1700000000,"end":"1700000060","msResolution":true,"queries":[{"aggregator":"zimsum","metric":"proc.cpu.user",
          "tags":{"command":"x"},"downsample":"5s-avg","rate":true,"rateOptions":{"counter":true,"counterMax":9,"resetValue":4}},
          {"aggregator":"none","metric":"b","filters":[{"type":"wildcard","tagk":"host","filter":"*","groupBy":true}]}]})";
  const OpenTsdbQuestion question = read_opentsdb(request, kNow);
  REQUIRE(question.queries.size() == 2);
  CHECK(question.milliseconds);
  CHECK(question.queries[0].range.from_ns == 1'700'000'000 * kSecond - 1);
  CHECK(question.queries[0].range.to_ns == 1'700'000'060 * kSecond);
  CHECK(question.queries[0].tags[0].key == "command");
  CHECK(question.queries[0].rate->largest == 9);
  CHECK_FALSE(question.queries[1].group);
  CHECK(question.queries[1].group_by == Patterns{"host"});
}

TEST_CASE("errors in queries are reported") {
  Request get{"GET", "/api/query", {{"m", "sum:a"}}, "", ""};
  CHECK(error_of(get) == "Missing start time");
  get.arguments.emplace_back("start", "1h-ago");
  CHECK(error_of(get).empty());
  get.arguments[0].second = "smu:a";
  CHECK(error_of(get) == "aggregator: \"smu\" is not known; did you mean \"sum\"?");
  get.arguments[0].second = "sum:a{b}";
  CHECK(error_of(get) == "\"b\" is not of the form tag=value");
  get.arguments[0].second = "sum:a{b=c";
  CHECK(error_of(get).find("braces do not match") == 0);
  get.arguments[0].second = "a";
  CHECK(error_of(get).find("Invalid parameter m=a") == 0);
  CHECK(error_of({"POST", "", {}, "{", ""}) == "Unable to parse the given JSON");
  CHECK(error_of({"POST", "", {}, R"({"start":1})", ""}) == "Missing queries");
  CHECK(error_of({"POST", "", {}, R"({"start":5,"end":1,"queries":[]})", ""}) == "end time is before the start time");
  CHECK(error_of({"POST", "", {}, R"({"start":1,"queries":[{"metric":"a"}]})", ""}) == "Missing the aggregation function");
}

TEST_CASE("responses have seconds or milliseconds, an object or pairs, and a word for unknown values") {
  const query::Answer answer{"m", {{"host", "h"}}, {"pid"}, {{kNow, 1.5}, {kNow + kSecond / 2, 2}, {kNow + kSecond, std::nan("")}}};
  OpenTsdbQuestion question;
  CHECK(opentsdb_json({answer}, query::Fill::nan, question) ==
        R"({"metric":"m","tags":{"host":"h"},"aggregateTags":["pid"],"dps":{"1700000000":2,"1700000001":"NaN"}})");
  question.milliseconds = question.arrays = true;
  CHECK(
      opentsdb_json({answer}, query::Fill::null, question) ==
      R"({"metric":"m","tags":{"host":"h"},"aggregateTags":["pid"],"dps":[[1700000000000,1.5],[1700000000500,2],[1700000001000,null]]})");
}

TEST_CASE("a sum that is no finite number is unknown") {
  const query::Answer answer{"m", {}, {}, {{kNow, INFINITY}}, {}};
  CHECK(opentsdb_json({answer}, query::Fill::nan, {}).find(R"("dps":{"1700000000":"NaN"})") != std::string::npos);
  CHECK(opentsdb_json({answer}, query::Fill::null, {}).find(R"("dps":{"1700000000":null})") != std::string::npos);
}

TEST_CASE("explicit tags are refused, not ignored") {
  const std::string body = R"({"start":1,"queries":[{"aggregator":"sum","metric":"a","explicitTags":true,"tags":{"host":"h"}}]})";
  CHECK_THROWS_AS(read_opentsdb({"POST", "/api/query", {}, body, ""}, 2'000'000'000), query::Wrong);
  CHECK_THROWS_AS(read_m("sum:explicit_tags:a{host=h}"), query::Wrong);
}

}  // namespace
}  // namespace atalaya::serve
