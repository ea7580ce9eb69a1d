// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/opentsdb/json_reader.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "plugins/shared/protocols/formats/encoder.h"

namespace atalaya::receive {
namespace {

// Records as text: "time+duration text key=value | name=1 name=1.5f".
class Log final : public protocols::RecordReceiver {
 public:
  bool take(const protocols::Record &record) override {
    std::string line = record.kind == ATALAYA_STACK ? "stack " : record.kind == ATALAYA_SPAN ? "span " : "";
    line += std::to_string(record.time_ns);
    if (record.duration_ns != 0) line += "+" + std::to_string(record.duration_ns);
    if (!record.text.empty()) line += " '" + std::string(record.text) + "'";
    for (const protocols::RecordTag &tag : record.tags) line += " " + std::string(tag.key) + "=" + std::string(tag.value);
    line += " |";
    for (const protocols::RecordField &field : record.fields) {
      line += " " + std::string(field.name) + "=";
      line += field.type == ATALAYA_I64 ? std::to_string(field.i64) : std::to_string(field.f64) + "f";
    }
    lines.push_back(line);
    return !full;
  }
  std::vector<std::string> lines;
  bool full = false;
};

std::string padded(std::string_view text) {
  std::string body(text);
  body.reserve(body.size() + protocols::DocumentReader::kPadding);
  return body;
}

struct Outcome {
  protocols::Account account;
  std::vector<std::string> lines;
};
Outcome put(std::string_view text, protocols::Rules rules = {true, true}) {
  protocols::JsonReader reader;
  Log log;
  const std::string body = padded(text);
  Outcome outcome{reader.read_put(body, rules, log), {}};
  outcome.lines = log.lines;
  return outcome;
}
Outcome stacks(std::string_view text) {
  protocols::JsonReader reader;
  Log log;
  const std::string body = padded(text);
  Outcome outcome{reader.read_stacks(body, {true, true}, log), {}};
  outcome.lines = log.lines;
  return outcome;
}
Outcome lines(std::string_view text) {
  protocols::JsonReader reader;
  Log log;
  const std::string body = padded(text);
  Outcome outcome{reader.read_lines(body, {true, true}, log), {}};
  outcome.lines = log.lines;
  return outcome;
}

std::string point(std::string_view timestamp, std::string_view value) {
  return R"({"metric":"m","timestamp":)" + std::string(timestamp) + R"(,"value":)" + std::string(value) +
         R"(,"tags":{"host":"h"}})";
}
std::string error_of(const std::string &body) {
  const Outcome outcome = put(body);
  CHECK(outcome.account.good == 0);
  CHECK(outcome.account.failed == 1);
  const size_t begin = outcome.account.errors.rfind("\"error\":\"") + 9;
  return outcome.account.errors.substr(begin, outcome.account.errors.size() - begin - 2);
}

}  // namespace

TEST_CASE("of many tags the last of duplicate keys wins, whatever their order; more than 1,024 are refused") {
  for (const int count : {1, 15, 16, 17, 500, 1024}) {
    CAPTURE(count);
    std::string tags, expected = "1000000000";
    for (int round = 0; round < 2; ++round)
      for (int i = 0; i < count; ++i)
        tags += (tags.empty() ? "\"" : ",\"") + std::to_string(i) + "\":\"" + std::to_string(i * 2 + round) + "\"";
    for (int i = 0; i < count; ++i) expected += " " + std::to_string(i) + "=" + std::to_string(i * 2 + 1);
    for (int again = 0; again < 2; ++again) {
      const auto outcome = put(R"({"metric":"m","timestamp":1,"value":1,"tags":{)" + tags + "}}", {false, true});
      REQUIRE(outcome.lines.size() == 1);
      CHECK(outcome.lines[0] == expected + " | m=1");
    }
    if (count == 1024)
      CHECK_FALSE(
          put(R"({"metric":"m","timestamp":1,"value":1,"tags":{)" + tags + ",\"x\":\"y\"}}", {false, true}).account.fatal.empty());
  }
}

TEST_CASE("receive: values and times of puts are exact") {
  struct Case {
    const char *timestamp, *value, *expected;
  };
  const Case cases[] = {
      {"1795219532", "5", "1795219532000000000 host=h | m=5"},
      {"\"1795219532\"", "\"99.40\"", "1795219532000000000 host=h | m=99.400000f"},  // as BDWatchdog sends them
      {"1795219532123", "-9223372036854775808", "1795219532123000000 host=h | m=-9223372036854775808"},
      {"\"1795219532.123\"", "9223372036854775807", "1795219532123000000 host=h | m=9223372036854775807"},
      {"1795219532.000000001", "\"+7\"", "1795219532000000001 host=h | m=7"},
      {"4294967295", "5.0", "4294967295000000000 host=h | m=5.000000f"},
      {"4294967296", "1e3", "4294967296000000 host=h | m=1000.000000f"},
      {"1", "1e-400", "1000000000 host=h | m=0.000000f"},
  };
  for (const Case &one : cases) {
    const Outcome outcome = put(point(one.timestamp, one.value));
    REQUIRE(outcome.lines.size() == 1);
    CHECK(outcome.lines[0] == one.expected);
    CHECK(outcome.account.good == 1);
    CHECK(outcome.account.failed == 0);
  }
}

TEST_CASE("receive: a bad point gets OpenTSDB's words and costs no other point") {
  CHECK(error_of(R"({"timestamp":1,"value":1,"tags":{"a":"b"}})") == "Metric name was empty");
  CHECK(error_of(R"({"metric":null,"timestamp":1,"value":1,"tags":{"a":"b"}})") == "Metric name was empty");
  for (const char *time : {"0", "-1", "null", "\"\"", "\"now\"", "99999999999999", "1e30", "\"1.\"", "1e-3"})
    CHECK(error_of(point(time, "1")) == "Invalid timestamp");
  CHECK(error_of(point("1", "\"\"")) == "Empty value");
  CHECK(error_of(point("1", "null")) == "Empty value");
  CHECK(error_of(R"({"metric":"m","timestamp":1,"value":1})") == "Missing tags");
  CHECK(error_of(R"({"metric":"m","timestamp":1,"value":1,"tags":{}})") == "Missing tags");
  for (const char *value : {"\"x\"", "\"NaN\"", "true", "9223372036854775808", "\"1 2\"", "\"0x1p3\"", "\"1.5.5\"", "\"+-1\""})
    CHECK(error_of(point("1", value)) == "Unable to parse value to a number");
  CHECK(error_of(point("1", "1e999")) == "value is NaN or Infinite: 1e999");
  CHECK(error_of(R"-({"metric":"m","timestamp":1,"value":1,"tags":{"command":"(python)"}})-") ==
        R"-(Invalid tag value (\"(python)\"): illegal character: ()-");
  CHECK(error_of(R"({"metric":"m m","timestamp":1,"value":1,"tags":{"a":"b"}})") ==
        R"-(Invalid metric name (\"m m\"): illegal character:  )-");
  CHECK(error_of(R"({"metric":"m","timestamp":1,"value":1,"tags":{"a":""}})") == "Invalid tag value: empty string");
  CHECK(error_of(R"({"metric":"m","timestamp":1,"value":1,"tags":{"a":null}})") == "Invalid tag value: null");
  std::string many = R"({"metric":"m","timestamp":1,"value":1,"tags":{)";
  for (int i = 0; i < 9; ++i) many += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":\"v\"";
  CHECK(error_of(many + "}}") == "Too many tags: 9 maximum allowed: 8");
  const Outcome mixed =
      put("[" + point("1", "\"bad\"") + "," + point("2", "1") + "," + point("0", "1") + "," + point("3", "2") + "]");
  CHECK(mixed.account.good == 2);
  CHECK(mixed.account.failed == 2);
  CHECK(mixed.lines.size() == 2);
  CHECK(
      mixed.account.errors ==
      R"({"datapoint":{"metric":"m","timestamp":1,"value":"bad","tags":{"host":"h"}},"error":"Unable to parse value to a number"},)"
      R"({"datapoint":{"metric":"m","timestamp":0,"value":"1","tags":{"host":"h"}},"error":"Invalid timestamp"})");
}

TEST_CASE("receive: without strict any text and any number of tags is taken") {
  const Outcome outcome = put(R"-([{"metric":"m","timestamp":1,"value":1,"tags":{"command":"(GC Thread#0)"}},)-"
                              R"({"metric":"m","timestamp":1,"value":1}])",
                              {false, false});
  CHECK(outcome.account.good == 2);
  CHECK(outcome.lines[0] == "1000000000 command=(GC Thread#0) | m=1");
}

TEST_CASE("receive: a request that is no put is refused as a whole") {
  CHECK(put("").account.fatal == "Missing request content");
  CHECK(put(" \n").account.fatal == "Missing request content");
  CHECK(put("hello").account.fatal == "The JSON must start as an object or an array");
  CHECK(put("[]").account.fatal == "No datapoints found in content");
  const std::string good = point("1", "1");
  for (const std::string &body :
       {"[" + good, "[" + good + ",", "[" + good + ",]", good + good, "[" + good + "]x", good.substr(0, good.size() - 1),
        "[" + good + ",5]", "[" + good + ",null]", std::string(R"([{"metric":["m"],"timestamp":1,"value":1,"tags":{"a":"b"}}])"),
        std::string(R"([{"metric":"m","timestamp":1,"value":1,"tags":["a"]}])"),
        std::string(R"([{"metric":"m","timestamp":1,"value":1,"tags":{"a":{}}}])"), point("1", "01"), point("1", "1.2.3"),
        point("1", "tru"), point("1", "\"\\x\""), "[" + good + "," + std::string("{\"metric\":\"\xff\"}") + "]"}) {
    const Outcome outcome = put(body);
    CHECK_MESSAGE(outcome.account.fatal == "Unable to parse the given JSON", body);
    CHECK(outcome.account.good == 0);
  }
}

TEST_CASE("receive: an object with more tags than any sample has is refused before it costs time") {
  std::string tags;
  for (int i = 0; i < 100'000; ++i) tags += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":\"v\"";
  const Outcome outcome = put(R"([{"metric":"m","timestamp":1,"value":1,"tags":{)" + tags + "}}]");
  CHECK(outcome.account.fatal == "Unable to parse the given JSON");
  CHECK(outcome.lines.empty());
}

TEST_CASE("receive: unknown members are passed over, of a member that comes twice the last counts") {
  const Outcome outcome = put(
      R"({"extra":{"a":[1,{"b":null}]},"metric":"x","value":1,"metric":"m","timestamp":2,"value":3,"tags":{"a":"b","a":"c"},"z":[]})");
  REQUIRE(outcome.lines.size() == 1);
  CHECK(outcome.lines[0] == "2000000000 a=c | m=3");
}

TEST_CASE("receive: names beyond the limit are refused as unknown") {
  protocols::JsonReader reader;
  Log log;
  log.full = true;
  const std::string body = padded(point("1", "1"));
  const protocols::Account account = reader.read_put(body, {true, true}, log);
  CHECK(account.failed == 1);
  CHECK(account.errors.find("\"error\":\"Unknown metric\"") != std::string::npos);
}

TEST_CASE("receive: stacks of BDWatchdog") {
  const Outcome outcome =
      stacks(R"([{"timestamp":1495813324,"hostname":"hadoop0","stack":"java-18714;start_thread;JavaThread::run","value":6},)"
             R"({"timestamp":1495813324,"hostname":"hadoop0","stack":"kworker/0:1-events-77;worker_thread","value":1},)"
             R"({"timestamp":1495813324,"stack":"no root;f","value":2,"tags":{"profile":"offcpu","runtime":"jvm"}},)"
             R"({"timestamp":1495813324,"stack":"","value":2},{"timestamp":1495813324,"stack":"a","value":0},)"
             R"({"timestamp":"x","stack":"a","value":1},{"timestamp":1495813324,"stack":"a","value":"1"}])");
  CHECK(outcome.lines ==
        std::vector<std::string>{
            "stack 1495813324000000000 'start_thread;JavaThread::run' process=java pid=18714 host=hadoop0 "
            "profile=cpu | profile.samples=6",
            "stack 1495813324000000000 'worker_thread' process=kworker/0:1-events pid=77 host=hadoop0 profile=cpu | "
            "profile.samples=1",
            "stack 1495813324000000000 'no root;f' profile=offcpu runtime=jvm | profile.samples=2"});
  CHECK(outcome.account.failed == 4);
  CHECK(outcome.account.errors.find(
            R"({"document":3,"error":"stack: min length is 1"},{"document":4,"error":"value: min value is 1"})") !=
        std::string::npos);
  CHECK_FALSE(stacks("[{").account.fatal.empty());
}

TEST_CASE("receive: a bad line costs no other line") {
  const Outcome outcome = lines(
      "{\"metric\":\"p\",\"timestamp\":1795219532000,\"value\":1.5,\"tags\":{}}\r\n"
      "{bad\n"
      "\n"
      "[1]\n"
      "{\"x\":1}\n"
      "{\"span\":\"map\",\"start\":1000,\"end\":7000,\"tags\":{\"job\":\"j\"},\"fields\":{\"n\":1}}\n"
      "{\"span\":\"map\",\"start\":1000,\"tags\":{},\"fields\":{}}\n"
      "{\"span\":\"map\",\"start\":1000,\"end\":1}\n"
      "{\"kind\":\"metrics\",\"time\":1795219532000000001,\"duration\":5,\"tags\":{},\"fields\":{\"n\":3,\"f\":2.0,\"no\":\"NaN\"}}"
      "\n"
      "{\"kind\":\"else\",\"time\":1}");
  CHECK(outcome.lines == std::vector<std::string>{"1795219532000000000 | p=1.500000f",
                                                  "span 1000000000+6000000000 'map' job=j | n=1", "span 1000000000+-1 'map' |",
                                                  "1795219532000000001+5 | n=3 f=2.000000f"});
  CHECK(outcome.account.failed == 5);
  CHECK(outcome.account.errors.find("{\"line\":2,\"error\":\"Unable to parse the given JSON\"},{\"line\":4,") == 0);
}

namespace {

class ToSamples final : public protocols::RecordReceiver {
 public:
  explicit ToSamples(core::Symbols &symbols) : symbols_(symbols) {}
  bool take(const protocols::Record &record) override {
    atalaya_sample &sample = batch.add_sample(record.kind);
    sample.time_ns = record.time_ns;
    sample.duration_ns = record.duration_ns;
    sample.text = batch.copy(record.text);
    for (const protocols::RecordTag &tag : record.tags) batch.add_tag(sample, symbols_.intern(tag.key), tag.value);
    for (const protocols::RecordField &field : record.fields) {
      atalaya_field made{symbols_.intern(field.name), field.type, {}};
      if (field.type == ATALAYA_I64) {
        made.value.i64 = field.i64;
      } else {
        made.value.f64 = field.f64;
      }
      batch.add_field(sample, made);
    }
    return true;
  }
  core::Batch batch;

 private:
  core::Symbols &symbols_;
};

}  // namespace

TEST_CASE("receive: the output of the encoder reads back byte by byte") {
  core::Symbols symbols;
  const std::string text = padded(
      "{\"kind\":\"metrics\",\"time\":1795219532000000001,\"duration\":5000000000,\"tags\":{\"host\":\"a\\\"\\n\\u0001\xc3\xa9\","
      "\"pid\":\"1\"},"
      "\"fields\":{\"n\":-9223372036854775808,\"f\":0.1,\"g\":5.0,\"h\":1e+22}}\n"
      "{\"kind\":\"stack\",\"time\":1795219532000000000,\"duration\":0,\"text\":\"a;b\",\"tags\":{\"profile\":\"wall\"},\"fields\":"
      "{\"profile.samples\":4}}\n"
      "{\"kind\":\"span\",\"time\":1795219532000000000,\"duration\":-1,\"text\":\"job\",\"tags\":{},\"fields\":{}}\n");
  ToSamples receiver(symbols);
  protocols::JsonReader reader;
  const protocols::Account account = reader.read_lines(text, {true, true}, receiver);
  CHECK_MESSAGE(account.failed == 0, account.errors);
  const auto encoder = protocols::make_encoder(protocols::Format::samples, [&](uint32_t id) { return symbols.name(id); });
  std::string out;
  core::Refused refused;
  core::append_all(*encoder, {receiver.batch.raw().samples, receiver.batch.count()}, out, refused);
  CHECK(out == text);
}

}  // namespace atalaya::receive
