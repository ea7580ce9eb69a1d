// SPDX-License-Identifier: Apache-2.0
// Rules of OTLP's JSON form.
#include <doctest/doctest.h>

#include "tests/unit/protocols/otlp/message.h"

namespace atalaya::protocols::testing {
namespace {

OtlpResult gauge(const std::string &point, const std::string &rest = "") {
  return read_otlp_json(R"({"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[)" + point + "]}}" +
                        rest + "]}]}]}");
}

}  // namespace

TEST_CASE("otlp json: integers are texts or numbers") {
  CHECK(gauge(R"({"timeUnixNano":"20","asInt":"-5"})").lines() == Lines{"m{} -5i @20"});
  CHECK(gauge(R"({"timeUnixNano":20,"asInt":5})").lines() == Lines{"m{} 5i @20"});
}

TEST_CASE("otlp json: reals are numbers or texts") {
  CHECK(gauge(R"({"timeUnixNano":"20","asDouble":1.5})").lines() == Lines{"m{} 1.5 @20"});
  CHECK(gauge(R"({"timeUnixNano":"20","asDouble":2})").lines() == Lines{"m{} 2 @20"});
  CHECK(gauge(R"({"timeUnixNano":"20","asDouble":"2.5"})").lines() == Lines{"m{} 2.5 @20"});
  const OtlpResult result = gauge(R"({"timeUnixNano":"20","asDouble":"NaN"},{"timeUnixNano":"20","asDouble":3})");
  CHECK(result.lines() == Lines{"m{} 3 @20"});
  CHECK(result.account.failed == 1);
}

TEST_CASE("otlp json: unknown keys and null are ignored") {
  CHECK(gauge(R"({"timeUnixNano":"20","asDouble":1,"flags":0,"new":{"x":[1]},"attributes":null})").lines() == Lines{"m{} 1 @20"});
}

TEST_CASE("otlp json: attributes of all types") {
  const OtlpResult result = gauge(R"({"timeUnixNano":"20","asInt":1,"attributes":[
      {"key":"a","value":{"stringValue":"x"}},{"key":"b","value":{"boolValue":true}},{"key":"c","value":{"intValue":"7"}},
      {"key":"d","value":{"doubleValue":0.5}},{"key":"e","value":{"bytesValue":"AQL/"}},
      {"key":"f","value":{"arrayValue":{"values":[{"intValue":1},{"stringValue":"y"}]}}},
      {"key":"g","value":{"kvlistValue":{"values":[{"key":"k","value":{"boolValue":false}}]}}}]})");
  CHECK(result.lines() == Lines{R"(m{a=x,b=true,c=7,d=0.5,e=AQL/,f=[1,"y"],g={"k":false}} 1i @20)"});
}

TEST_CASE("otlp json: flags, parts that are not stored, and the forms of data") {
  const std::string histogram = R"({"timeUnixNano":"20","count":"2","sum":3,"bucketCounts":["1","1"],"explicitBounds":[1]})";
  const OtlpResult result = gauge(R"({"timeUnixNano":"20","flags":1})",
                                  R"(,{"name":"h","histogram":{"aggregationTemporality":1,"dataPoints":[)" + histogram +
                                      R"(]}},{"name":"s","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[
                                      {"timeUnixNano":"20","asInt":"4"}]}},{"name":"q","summary":{"dataPoints":[
                                      {"timeUnixNano":"20","count":"1","sum":2,"quantileValues":[{"quantile":1,"value":2}]}]}})");
  CHECK(result.lines() == Lines{"h.count{} 2i @20", "h.sum{} 3 @20", "s{} 4i @20", "q.count{} 1i @20", "q.sum{} 2 @20"});
  CHECK(result.records.kinds.at("h.sum") == ATALAYA_DELTA);
  CHECK(result.records.kinds.at("s") == ATALAYA_TOTAL);
  CHECK(result.account.note ==
        "not stored of 1 points: buckets, exemplars, minimum and maximum of histograms; not stored of 1 points: quantiles of "
        "summaries");
}

TEST_CASE("otlp json: what is no request is refused with the field") {
  for (const char *body : {"", "[]", "1", "{\"a\":", "{} x"}) {
    CAPTURE(body);
    CHECK(read_otlp_json(body).account.fatal == "The body is not an ExportMetricsServiceRequest in JSON");
  }
  CHECK(gauge(R"({"timeUnixNano":"x"})").account.fatal ==
        "The body is not an ExportMetricsServiceRequest in JSON: wrong type of timeUnixNano");
  CHECK(gauge("7").account.fatal == "The body is not an ExportMetricsServiceRequest in JSON: wrong type of dataPoints");
  CHECK(read_otlp_json("{}").account.fatal.empty());
}

}  // namespace atalaya::protocols::testing
