// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/formats/encoder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "plugins/shared/protocols/opentsdb/opentsdb_name.h"
#include "tests/unit/core/sample/json_check.h"
#include "tests/unit/core/sample/sample_maker.h"

using namespace atalaya;
using namespace atalaya::core;
using atalaya::core::testing::JsonCheck;
using atalaya::core::testing::Maker;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Text {
  std::string lines;
  std::string reason;  // of the last sample that has no line
};

Text encoded(Maker &maker, std::string_view format) {
  const auto encoder = protocols::make_encoder(protocols::format_from_name(format), maker.name_of());
  Text text;
  for (uint64_t i = 0; i < maker.batch.count(); ++i) {
    const std::string_view reason = encoder->append(maker.batch.raw().samples[i], text.lines);
    if (!reason.empty()) text.reason = reason;
  }
  return text;
}

void add_process(Maker &maker) {
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"pid", "8860"}, {"process", "java"}});
  maker.field(sample, "proc.cpu.user", 99.4);
  maker.count(sample, "proc.threads", 31);
}

}  // namespace

TEST_CASE("jsonlines: one point a line, real numbers, ms") {
  Maker maker;
  add_process(maker);
  CHECK(encoded(maker, "jsonlines").lines ==
        R"({"metric":"proc.cpu.user","timestamp":1795219532123,"value":99.4,"tags":{"host":"vm","pid":"8860","process":"java"}})"
        "\n"
        R"({"metric":"proc.threads","timestamp":1795219532123,"value":31,"tags":{"host":"vm","pid":"8860","process":"java"}})"
        "\n");
}

TEST_CASE("jsonlines: values that are no numbers are left out, and a sample without any is reported") {
  Maker maker;
  atalaya_sample &some = maker.add(ATALAYA_METRICS, {});
  maker.field(some, "a.nan", kNan);
  maker.field(some, "a.value", -0.5);
  maker.field(some, "a.infinity", kInfinity);
  CHECK(encoded(maker, "jsonlines").lines == R"({"metric":"a.value","timestamp":1795219532123,"value":-0.5,"tags":{}})"
                                             "\n");
  maker.batch.clear();
  maker.field(maker.add(ATALAYA_METRICS, {}), "a.nan", kNan);
  const Text text = encoded(maker, "jsonlines");
  CHECK(text.lines.empty());
  CHECK(text.reason == "no finite value");
}

TEST_CASE("bdwatchdog: the literal strings of the reference design") {
  Maker maker;
  add_process(maker);
  maker.field(maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"interface", "eth0"}}), "sys.net.in.mb", 0.125);
  CHECK(
      encoded(maker, "bdwatchdog").lines ==
      R"({"metric": "proc.cpu.user", "timestamp": "1795219532", "value": "99.40", "tags": {"host": "vm", "pid": "8860", "command": "java"}})"
      "\n"
      R"({"metric": "proc.threads", "timestamp": "1795219532", "value": "31.00", "tags": {"host": "vm", "pid": "8860", "command": "java"}})"
      "\n"
      R"({"metric": "sys.net.in.mb", "timestamp": "1795219532", "value": "0.12", "tags": {"host": "vm", "device": "eth0"}})"
      "\n");
}

TEST_CASE("samples: nothing is lost, integers and doubles stay apart") {
  Maker maker;
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, {{"pid", "1"}});
  maker.count(sample, "a.count", std::numeric_limits<int64_t>::min());
  maker.field(sample, "a.real", 5);
  maker.field(sample, "a.nan", kNan);
  maker.field(sample, "a.low", -kInfinity);
  atalaya_sample &span = maker.add(ATALAYA_SPAN, {}, "map\n");
  span.duration_ns = -1;
  CHECK(encoded(maker, "samples").lines ==
        R"({"kind":"metrics","time":1795219532123456789,"duration":5000000000,"tags":{"pid":"1"},)"
        R"("fields":{"a.count":-9223372036854775808,"a.real":5.0,"a.nan":"NaN","a.low":"-Infinity"}})"
        "\n"
        R"({"kind":"span","time":1795219532123456789,"duration":-1,"text":"map\n","tags":{},"fields":{}})"
        "\n");
}

TEST_CASE("stacks: root frame from process and pid, value from profile.samples") {
  Maker maker;
  atalaya_sample &stack = maker.add(ATALAYA_STACK, {{"host", "hadoop0"}, {"pid", "18714"}, {"process", "java"}, {"profile", "cpu"}},
                                    "start_thread;java_start");
  maker.count(stack, "profile.samples", 6);
  CHECK(
      encoded(maker, "jsonlines").lines ==
      R"({"timestamp":1795219532,"hostname":"hadoop0","stack":"java-18714;start_thread;java_start","value":6,"tags":{"profile":"cpu"}})"
      "\n");
  CHECK(encoded(maker, "bdwatchdog").lines ==
        R"({"timestamp":1795219532,"hostname":"hadoop0","stack":"java-18714;start_thread;java_start","value":6})"
        "\n");

  maker.batch.clear();
  maker.count(maker.add(ATALAYA_STACK, {{"profile", "offcpu"}}, "main"), "profile.samples", 2);
  CHECK(encoded(maker, "bdwatchdog").reason == "bdwatchdog has CPU stacks only");
  CHECK(encoded(maker, "csv").reason == "csv has no form for stacks");
  CHECK(encoded(maker, "line").reason == "line has no form for stacks");

  maker.batch.clear();
  maker.add(ATALAYA_STACK, {}, "main");
  CHECK(encoded(maker, "jsonlines").reason == "stack without profile.samples");
}

TEST_CASE("spans: no end while they are open") {
  Maker maker;
  maker.count(maker.add(ATALAYA_SPAN, {{"job", "j1"}}, "map"), "span.bytes", 7);
  maker.add(ATALAYA_SPAN, {}, "reduce").duration_ns = -1;
  CHECK(encoded(maker, "jsonlines").lines ==
        R"({"span":"map","start":1795219532123,"end":1795219537123,"tags":{"job":"j1"},"fields":{"span.bytes":7}})"
        "\n"
        R"({"span":"reduce","start":1795219532123,"tags":{},"fields":{}})"
        "\n");
  CHECK(encoded(maker, "csv").reason == "csv has no form for spans");
}

TEST_CASE("csv: quotes where they are needed, one line a row for any name") {
  Maker maker;
  maker.field(
      maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"process", "a,\"b\"\nc"}, {"user", "x;y=z\\"}, {"pid", "7"}, {"unit", "u"}}),
      "proc.cpu.user", 1.5);
  CHECK(protocols::make_encoder(protocols::Format::csv, maker.name_of())->header() == "time,metric,value,host,pid,process,tags\n");
  CHECK(encoded(maker, "csv").lines == "1795219532123,proc.cpu.user,1.5,vm,7,\"a,\"\"b\"\"\\x0ac\",user=x\\;y\\=z\\\\;unit=u\n");
}

TEST_CASE("csv for spreadsheets: no tag is a formula") {
  Maker maker;
  maker.field(maker.add(ATALAYA_METRICS, {{"host", "=1+1"}, {"process", "-bash"}, {"pid", "7"}, {"user", "@x"}}), "m", -1.5);
  for (const auto &[format, line] :
       {std::pair(protocols::Format::csv_for_spreadsheets, "1795219532123,m,-1.5,'=1+1,7,'-bash,user=@x\n"),
        std::pair(protocols::Format::csv, "1795219532123,m,-1.5,=1+1,7,-bash,user=@x\n")}) {
    std::string lines;
    CHECK(protocols::make_encoder(format, maker.name_of())->append(maker.batch.raw().samples[0], lines) == "");
    CHECK(lines == line);
  }
}

TEST_CASE("line: only characters that the protocol allows") {
  Maker maker;
  maker.field(maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"process", "GC Thread#0\n"}, {"disk", ""}, {"user", "ñ"}}),
              "proc.cpu.user", 1.5);
  CHECK(encoded(maker, "line").lines == "proc.cpu.user 1795219532123 1.5 host=vm process=GC_Thread_0_ user=ñ\n");
}

TEST_CASE("names that the table does not know are left out") {
  Maker maker;
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, {});
  maker.batch.add_tag(sample, 4'000'000'000u, "x");
  maker.batch.add_field(sample, {4'000'000'000u, ATALAYA_I64, {}});
  maker.count(sample, "a.b", 1);
  CHECK(encoded(maker, "jsonlines").lines == R"({"metric":"a.b","timestamp":1795219532123,"value":1,"tags":{}})"
                                             "\n");
  CHECK(encoded(maker, "samples").lines ==
        R"({"kind":"metrics","time":1795219532123456789,"duration":5000000000,"tags":{},"fields":{"a.b":1}})"
        "\n");
}

TEST_CASE("every line is one line, and of the JSON formats valid JSON, for random bytes") {
  std::mt19937 random(20260101);
  const auto bytes = [&] {
    std::string text(random() % 12, ' ');
    for (char &byte : text) byte = static_cast<char>(random());
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    Maker maker;
    for (uint32_t kind : {ATALAYA_METRICS, ATALAYA_STACK, ATALAYA_SPAN}) {
      atalaya_sample &sample = maker.add(kind, {{"process", bytes()}, {"k" + bytes(), bytes()}, {"pid", bytes()}}, bytes());
      maker.field(sample, "m." + bytes(), static_cast<double>(random()) / 7);
      maker.count(sample, "profile.samples", 3);
    }
    for (const std::string_view format : {"jsonlines", "samples", "bdwatchdog", "csv", "line"}) {
      const bool json = format != "csv" && format != "line";  // the others have lines for metrics only
      const Text text = encoded(maker, format);
      int lines = 0;
      for (std::string_view rest = text.lines; !rest.empty(); ++lines) {
        const size_t end = rest.find('\n');
        REQUIRE(end != std::string_view::npos);
        if (json) REQUIRE(JsonCheck::valid(rest.substr(0, end)));
        rest.remove_prefix(end + 1);
      }
      CHECK(lines == (format == "samples" ? 3 : json ? 4 : 2));
    }
  }
}

TEST_CASE("opentsdb: names of the usual kind stay, all others become legal and come back") {
  const auto legal = [](std::string_view text) {
    std::string out;
    protocols::append_opentsdb_name(out, text);
    return out;
  };
  CHECK(legal("proc.cpu.user") == "proc.cpu.user");
  CHECK(legal("java_home") == "java_home");
  CHECK(legal("kworker/0:1") == "kworker/0_3A1");
  CHECK(legal("GC Thread#0") == "GC_20Thread_230");
  CHECK(legal("proc_AB") == "proc_5FAB");
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 8, '\0');
    for (char &byte : text) byte = random() % 2 == 0 ? "_0AF:a"[random() % 6] : static_cast<char>(random());
    const std::string name = legal(text);
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == std::string::npos);
    REQUIRE(protocols::from_opentsdb_name(name) == text);
  }
}

TEST_CASE("opentsdb: extra tags are dropped in the stated order, identities never") {
  Maker maker;
  maker.field(maker.add(ATALAYA_METRICS, {{"host", "a b"}, {"user", "u"}, {"pid", "1"}, {"unit", "x"}, {"empty", ""}}),
              "proc.cpu.user", 1.5);
  const auto line = [&](const protocols::TagLimit &limit) {
    std::string out;
    const auto encoder = make_encoder(protocols::Format::opentsdb, maker.name_of(), limit);
    const std::string reason(encoder->append(maker.batch.raw().samples[0], out));
    return reason.empty() ? out : reason;
  };
  CHECK(
      line({8, {"unit", "user"}}) ==
      R"({"metric":"proc.cpu.user","timestamp":1795219532123,"value":1.5,"tags":{"host":"a_20b","user":"u","pid":"1","unit":"x"}})"
      "\n");
  CHECK(line({3, {"unit", "user"}}) ==
        R"({"metric":"proc.cpu.user","timestamp":1795219532123,"value":1.5,"tags":{"host":"a_20b","user":"u","pid":"1"}})"
        "\n");
  CHECK(line({1, {"unit", "user"}}) == "more tags than opentsdb takes");
}

TEST_CASE("influx: a line per family, counts as integers, special characters are escaped") {
  Maker maker;
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, {{"host", "a b"}, {"process", "x,=\\ y\n\\"}, {"none", ""}});
  maker.field(sample, "proc.cpu.user", 99.4);
  maker.field(sample, "uptime", 3);
  maker.field(sample, "proc.nan", kNan);
  maker.count(sample, "proc.threads", 31);
  CHECK(encoded(maker, "influx").lines ==
        "proc,host=a\\ b,process=x\\,\\=\\x5c\\ y\\x0a\\x5c cpu.user=99.4,threads=31i 1795219532123456789\n"
        "uptime,host=a\\ b,process=x\\,\\=\\x5c\\ y\\x0a\\x5c value=3 1795219532123456789\n");
}

TEST_CASE("influx: a line never begins as a comment") {
  Maker maker;
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, {{"#host", "#1"}});
  maker.field(sample, "#a#.#b", 1);
  maker.field(sample, "#", 2);
  CHECK(encoded(maker, "influx").lines ==
        "\\x23a#,#host=#1 #b=1 1795219532123456789\n"
        "\\x23,#host=#1 value=2 1795219532123456789\n");
}

TEST_CASE("stacks: the four members of the reference design, CPU stacks alone") {
  Maker maker;
  atalaya_sample &stack =
      maker.add(ATALAYA_STACK, {{"host", "vm"}, {"pid", "7"}, {"process", "java"}, {"profile", "cpu"}}, "main;work");
  maker.count(stack, "profile.samples", 6);
  CHECK(encoded(maker, "stacks").lines ==
        "{\"timestamp\":1795219532,\"hostname\":\"vm\",\"stack\":\"java-7;main;work\",\"value\":6}\n");
  add_process(maker);
  CHECK(encoded(maker, "stacks").reason == "stacks has no form for metrics and spans");
}
