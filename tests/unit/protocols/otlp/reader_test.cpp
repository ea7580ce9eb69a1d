// SPDX-License-Identifier: Apache-2.0
// Each rule of OTLP's metrics.
#include <doctest/doctest.h>

#include <limits>

#include "tests/unit/protocols/otlp/message.h"

namespace atalaya::protocols::testing {
namespace {

// A histogram's or summary's data of these points.
std::string data(const std::vector<std::string> &points, int temporality = 2, bool monotonic = false) {
  return message([&](pbf_writer &out) {
    for (const std::string &point : points) out.add_message(1, point);
    if (temporality != 0) out.add_enum(2, temporality);
    if (monotonic) out.add_bool(3, true);
  });
}

std::string number(double value, uint64_t time = 20, uint64_t start = 10) {
  return message([&](pbf_writer &out) {
    out.add_fixed64(2, start);
    out.add_fixed64(3, time);
    out.add_double(4, value);
  });
}

std::string histogram(uint64_t count, double sum, uint64_t time, uint32_t flags = 0) {
  return message([&](pbf_writer &out) {
    out.add_fixed64(3, time);
    if (count > 0) out.add_fixed64(4, count);
    out.add_double(5, sum);
    if (flags > 0) out.add_uint32(10, flags);
  });
}

}  // namespace

TEST_CASE("otlp: kinds and windows follow the form, the temporality and the direction") {
  const auto kind_of = [](uint32_t form, int temporality, bool monotonic) {
    const OtlpResult result = read_otlp(request(form, data({number(1)}, temporality, monotonic)));
    return std::pair(result.records.kinds.at("m"), result.lines().at(0));
  };
  CHECK(kind_of(kGaugeForm, 0, false) == std::pair<uint32_t, std::string>(ATALAYA_GAUGE, "m{} 1 @20"));
  CHECK(kind_of(kSumForm, 2, true) == std::pair<uint32_t, std::string>(ATALAYA_TOTAL, "m{} 1 @20"));
  CHECK(kind_of(kSumForm, 1, true) == std::pair<uint32_t, std::string>(ATALAYA_DELTA, "m{} 1 @20+10"));
  CHECK(kind_of(kSumForm, 2, false) == std::pair<uint32_t, std::string>(ATALAYA_GAUGE, "m{} 1 @20"));
  // The change of a value that may fall is an amount, not the value.
  CHECK(kind_of(kSumForm, 1, false) == std::pair<uint32_t, std::string>(ATALAYA_DELTA, "m{} 1 @20+10"));
}

TEST_CASE("otlp: an integer is a value, too, and the unit is that of the metric") {
  const OtlpResult result = read_otlp(request(kGaugeForm, data({message([](pbf_writer &out) {
                                                out.add_fixed64(3, 20);
                                                out.add_sfixed64(6, -7);
                                              })})));
  CHECK(result.lines() == Lines{"m{} -7i @20"});
  CHECK(result.records.units.at("m") == "s");
}

TEST_CASE("otlp: a point without a recorded value is not stored; the flags of histograms are field 10") {
  const OtlpResult result =
      read_otlp(request(kHistogramForm, data({histogram(10, 5, 10), histogram(0, 0, 20, 1), histogram(12, 6, 30)})));
  CHECK(result.lines() == Lines{"m.count{} 10i @10", "m.sum{} 5 @10", "m.count{} 12i @30", "m.sum{} 6 @30"});
  CHECK(result.account.failed == 0);
  CHECK(read_otlp(request(kExponentialForm, data({histogram(3, 1, 20, 1)}))).lines().empty());
  for (const uint32_t form : {kGaugeForm, kSummaryForm}) {
    const std::string point = message([](pbf_writer &out) {
      out.add_fixed64(3, 20);
      out.add_uint32(8, 1);
    });
    const OtlpResult stale = read_otlp(request(form, data({point}, 0)));
    CHECK(stale.lines().empty());
    CHECK(stale.account.failed == 0);
  }
}

TEST_CASE("otlp: an empty histogram has a count of 0") {
  CHECK(read_otlp(request(kHistogramForm, data({histogram(0, 0, 20)}))).lines() == Lines{"m.count{} 0i @20", "m.sum{} 0 @20"});
}

TEST_CASE("otlp: a histogram without a sum has its count") {
  const std::string point = message([](pbf_writer &out) {
    out.add_fixed64(3, 20);
    out.add_fixed64(4, 7);
  });
  CHECK(read_otlp(request(kExponentialForm, data({point}))).lines() == Lines{"m.count{} 7i @20"});
}

TEST_CASE("otlp: attributes of the resource and the point are tags; their fields differ between the forms") {
  const std::string resource = message([](pbf_writer &out) {
    out.add_message(1, text_pair("host.name", "vm"));
    out.add_message(1, text_pair("process.pid", "7"));
  });
  for (const auto &[form, attribute] :
       {std::pair(kGaugeForm, 7u), std::pair(kHistogramForm, 9u), std::pair(kExponentialForm, 1u), std::pair(kSummaryForm, 7u)}) {
    const std::string point = message([&](pbf_writer &out) {
      out.add_message(attribute, text_pair("room", "1"));
      out.add_fixed64(3, 20);
      out.add_fixed64(4, 0);
    });
    CAPTURE(form);
    const OtlpResult result = read_otlp(request(form, data({point}, form == kGaugeForm ? 0 : 2), resource));
    REQUIRE(result.lines().size() == 1);
    CHECK(result.lines()[0].find("{host=vm,pid=7,room=1}") != std::string::npos);
  }
}

TEST_CASE("otlp: values of attributes of all types") {
  const auto any = [](const Fill &fill) {
    const std::string value = message(fill);
    const std::string pair = message([&](pbf_writer &out) {
      out.add_string(1, "k");
      out.add_message(2, value);
    });
    const OtlpResult result =
        read_otlp(request(kGaugeForm, data({number(1)}), message([&](pbf_writer &out) { out.add_message(1, pair); })));
    return result.lines().at(0);
  };
  CHECK(any([](pbf_writer &out) { out.add_string(1, "a\"b"); }) == "m{k=a\"b} 1 @20");
  CHECK(any([](pbf_writer &out) { out.add_bool(2, false); }) == "m{k=false} 1 @20");
  CHECK(any([](pbf_writer &out) { out.add_int64(3, -5); }) == "m{k=-5} 1 @20");
  CHECK(any([](pbf_writer &out) { out.add_double(4, 1e-9); }) == "m{k=1e-09} 1 @20");
  CHECK(any([](pbf_writer &out) { out.add_bytes(7, "\x01\x02\xff\x00", 4); }) == "m{k=AQL/AA==} 1 @20");
  CHECK(any([](pbf_writer &) {}) == "m{} 1 @20");
  const std::string list = message([](pbf_writer &out) {
    out.add_message(1, message([](pbf_writer &one) { one.add_string(1, "a\"b"); }));
    out.add_message(1, message([](pbf_writer &two) { two.add_int64(3, 2); }));
    out.add_message(1, std::string());
  });
  CHECK(any([&](pbf_writer &out) { out.add_message(5, list); }) == R"(m{k=["a\"b",2,null]} 1 @20)");
  const std::string map = message([&](pbf_writer &out) {
    out.add_message(1, text_pair("x", "y"));
    out.add_message(1, message([&](pbf_writer &pair) {
                      pair.add_string(1, "l");
                      pair.add_message(2, message([&](pbf_writer &value) { value.add_message(5, list); }));
                    }));
  });
  CHECK(any([&](pbf_writer &out) { out.add_message(6, map); }) == R"(m{k={"x":"y","l":["a\"b",2,null]}} 1 @20)");
}

TEST_CASE("otlp: lists inside of lists end at a depth") {
  std::string value;
  for (int i = 0; i < 100; ++i) {
    const std::string list = message([&](pbf_writer &out) { out.add_message(1, value); });
    value = message([&](pbf_writer &out) { out.add_message(5, list); });
  }
  const std::string pair = message([&](pbf_writer &out) {
    out.add_string(1, "k");
    out.add_message(2, value);
  });
  const OtlpResult result =
      read_otlp(request(kGaugeForm, data({number(1)}), message([&](pbf_writer &out) { out.add_message(1, pair); })));
  CHECK(result.lines() == Lines{"m{k=" + std::string(17, '[') + "null" + std::string(17, ']') + "} 1 @20"});
}

TEST_CASE("otlp: a refused point is named, and those next to it arrive") {
  const std::string no_value = message([](pbf_writer &out) { out.add_fixed64(3, 20); });
  const OtlpResult result = read_otlp(request(
      kGaugeForm,
      data({number(1), no_value, number(2, 0), number(std::numeric_limits<double>::quiet_NaN()), number(3, 5, 6), number(4)})));
  CHECK(result.lines() == Lines{"m{} 1 @20", "m{} 4 @20"});
  CHECK(result.account.good == 2);
  CHECK(result.account.failed == 4);
  CHECK(result.account.note == "2 refused: Invalid time; 2 refused: the point has no finite value");
  CHECK(OtlpReader::json_response(result.account) ==
        R"({"partialSuccess":{"rejectedDataPoints":"4","errorMessage":")" + result.account.note + R"("}})");
}

TEST_CASE("otlp: parts that are not stored are in the response") {
  const std::string point = message([](pbf_writer &out) {
    out.add_fixed64(3, 20);
    out.add_fixed64(4, 7);
    out.add_double(11, 1);
  });
  const OtlpResult result = read_otlp(request(kHistogramForm, data({point, histogram(1, 1, 30)})));
  CHECK(result.account.failed == 0);
  CHECK(result.account.note == "not stored of 1 points: buckets, exemplars, minimum and maximum of histograms");
  const std::string bytes = OtlpReader::response(result.account);
  // Field 1 is partial_success; its field 2 is error_message.
  CHECK(bytes == message([&](pbf_writer &out) {
          out.add_message(1, message([&](pbf_writer &partial) { partial.add_string(2, result.account.note); }));
        }));
  CHECK(OtlpReader::response(read_otlp(request(kGaugeForm, data({number(1)}))).account).empty());
}

TEST_CASE("otlp: the deltas of a second sender are not stored as a total") {
  Records records;
  OtlpReader reader;
  reader.read(request(kSumForm, data({number(1)}, 2, true)), {}, records);
  const Account account = reader.read(request(kSumForm, data({number(5)}, 1, true)), {}, records);
  CHECK(records.lines == Lines{"m{} 1 @20"});
  CHECK(account.failed == 1);
  CHECK(account.note == "1 refused: " + std::string(kOtherKind));
}

TEST_CASE("otlp: a body that is no request is refused as a whole") {
  CHECK(read_otlp("\x0a\xff").account.fatal == "The body is not an ExportMetricsServiceRequest");
}

TEST_CASE("otlp: a request of OpenTelemetry's SDK") {
  const OtlpResult result = read_otlp(fixture("otlp/sdk.pb"));
  const std::string resource = R"(host=vm,service.name=shop,tags=["a","b"])";
  CHECK(result.lines() == Lines{
                              "orders{" + resource + ",kind=web} 5i @1795219532000000000",
                              "open{" + resource + "} 3i @1795219532000000000",
                              "duration.count{" + resource + "} 2i @1795219532000000000+2000000000",
                              "duration.sum{" + resource + "} 2.5 @1795219532000000000+2000000000",
                              "exp.count{" + resource + "} 1i @1795219532000000000+2000000000",
                              "exp.sum{" + resource + "} 8 @1795219532000000000+2000000000",
                              "temperature{" + resource + ",room=é} 21.5 @1795219532000000000",
                          });
  CHECK(result.records.kinds.at("orders") == ATALAYA_TOTAL);
  CHECK(result.records.kinds.at("open") == ATALAYA_GAUGE);
  CHECK(result.records.units.at("duration.sum") == "s");
  CHECK(read_otlp_json(fixture("otlp/sdk.json")).lines() == result.lines());
}

}  // namespace atalaya::protocols::testing
