// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/prometheus/snapshot_text.h"

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "tests/unit/sinks/prometheus/fixture.h"

namespace atalaya::prometheus::testing {
namespace {

void fill(Bench &bench) {
  atalaya_sample &process = bench.add({{"pid", "7"}, {"process", "a\"b\\c\nd"}, {"host", "vm"}});
  bench.maker.field(process, "proc.cpu.user", 99.4);
  bench.maker.count(process, "proc.start.time", 1'699'990'000'120'000'001);
  bench.maker.count(bench.add({{"host", "vm"}}), "self.samples.in", 12);
  bench.maker.field(bench.add({}), "odd.nan", std::numeric_limits<double>::quiet_NaN());
  bench.maker.field(bench.add({}), "odd.inf", -std::numeric_limits<double>::infinity());
  bench.write();
}

atalaya::testing::Declarations declared() {
  return atalaya::testing::Declarations()
      .add("self.samples.in", ATALAYA_TOTAL, "1", "Samples that came in.")
      .add("proc.cpu.user", ATALAYA_RATE, "%", "CPU time in user mode", 1);
}

// Reads the output as a scraper does: name and labels with their values unescaped.
using Key = std::pair<std::string, std::map<std::string, std::string>>;
std::map<Key, std::string> parse(const std::string &text) {
  std::map<Key, std::string> result;
  size_t at = 0;
  const auto until = [&](const char *ends) {
    const size_t end = text.find_first_of(ends, at);
    REQUIRE(end != std::string::npos);
    const size_t begin = std::exchange(at, end);
    return text.substr(begin, end - begin);
  };
  while (at < text.size()) {
    if (text[at] == '#') {
      until("\n");
      ++at;
      continue;
    }
    Key key{until("{ "), {}};
    while (text[at] != ' ') {
      ++at;  // { or ,
      if (text[at] == ' ') break;
      const std::string label = until("=");
      at += 2;
      std::string value;
      for (; text[at] != '"'; ++at) {
        if (text[at] == '\\')
          ++at, value += text[at] == 'n' ? '\n' : text[at];
        else
          value += text[at];
      }
      ++at;
      CHECK(key.second.emplace(label, value).second);
      if (text[at] == '}') ++at;
    }
    ++at;
    const std::string value = until("\n");
    ++at;
    CHECK(result.emplace(std::move(key), value).second);
  }
  return result;
}

}  // namespace

TEST_CASE("prometheus: the text format") {
  Bench bench({}, declared());
  fill(bench);
  CHECK(bench.scrape() == R"(# HELP odd_inf Atalaya's metric odd.inf
# TYPE odd_inf untyped
odd_inf -Inf
# HELP odd_nan Atalaya's metric odd.nan
# TYPE odd_nan untyped
odd_nan NaN
# HELP proc_cpu_user CPU time in user mode, in %; Atalaya's metric proc.cpu.user
# TYPE proc_cpu_user gauge
proc_cpu_user{host="vm",pid="7",process="a\"b\\c\nd"} 99.4
# HELP proc_start_time Atalaya's metric proc.start.time
# TYPE proc_start_time untyped
proc_start_time{host="vm",pid="7",process="a\"b\\c\nd"} 1699990000120000001
# HELP self_samples_in_total Samples that came in; Atalaya's metric self.samples.in
# TYPE self_samples_in_total counter
self_samples_in_total{host="vm"} 12
)");
}

TEST_CASE("prometheus: OpenMetrics, with times") {
  Bench bench({}, declared(), true);
  fill(bench);
  CHECK(bench.scrape(0, Form::openmetrics) == R"(# HELP odd_inf Atalaya's metric odd.inf
# TYPE odd_inf unknown
odd_inf -Inf 1795219530.000
# HELP odd_nan Atalaya's metric odd.nan
# TYPE odd_nan unknown
odd_nan NaN 1795219530.000
# HELP proc_cpu_user CPU time in user mode, in %; Atalaya's metric proc.cpu.user
# TYPE proc_cpu_user gauge
proc_cpu_user{host="vm",pid="7",process="a\"b\\c\nd"} 99.4 1795219530.000
# HELP proc_start_time Atalaya's metric proc.start.time
# TYPE proc_start_time unknown
proc_start_time{host="vm",pid="7",process="a\"b\\c\nd"} 1699990000120000001 1795219530.000
# HELP self_samples_in Samples that came in; Atalaya's metric self.samples.in
# TYPE self_samples_in counter
self_samples_in_total{host="vm"} 12 1795219530.000
# EOF
)");
  CHECK(bench.scrape().find("odd_inf -Inf 1795219530000\n") != std::string::npos);
  CHECK(Bench().scrape(0, Form::openmetrics) == "# EOF\n");
}

TEST_CASE("prometheus: types, units and help come from the declarations, unit by unit") {
  atalaya::testing::Declarations declared;
  declared.add("x.queue.bytes", ATALAYA_GAUGE, "By", "Memory of the queue")
      .add("x.sent.bytes", ATALAYA_DELTA, "By", "Sent")
      .add("x.read.bytes", ATALAYA_RATE, "By/s", "Read")
      .add("x.busy.seconds", ATALAYA_TOTAL, "s", "Busy time")
      .add("x.room.temp", ATALAYA_GAUGE, "Cel", "Temperature");
  Bench bench({}, declared);
  for (const char *name : {"x.queue.bytes", "x.sent.bytes", "x.read.bytes", "x.busy.seconds", "x.room.temp", "x.foreign.bytes"})
    bench.metric({}, name, 1);
  bench.write();
  CHECK(bench.scrape(0, Form::openmetrics) == R"(# HELP x_busy_seconds Busy time, in s; Atalaya's metric x.busy.seconds
# TYPE x_busy_seconds counter
# UNIT x_busy_seconds seconds
x_busy_seconds_total 1
# HELP x_foreign_bytes Atalaya's metric x.foreign.bytes
# TYPE x_foreign_bytes unknown
x_foreign_bytes 1
# HELP x_queue_bytes Memory of the queue, in B; Atalaya's metric x.queue.bytes
# TYPE x_queue_bytes gauge
# UNIT x_queue_bytes bytes
x_queue_bytes 1
# HELP x_read_bytes Read, in B/s; Atalaya's metric x.read.bytes
# TYPE x_read_bytes gauge
x_read_bytes 1
# HELP x_room_temp Temperature, in °C; Atalaya's metric x.room.temp
# TYPE x_room_temp gauge
x_room_temp 1
# HELP x_sent_bytes Sent, in B; Atalaya's metric x.sent.bytes
# TYPE x_sent_bytes gauge
# UNIT x_sent_bytes bytes
x_sent_bytes 1
# EOF
)");
  CHECK(bench.scrape().find("# UNIT") == std::string::npos);
}

TEST_CASE("prometheus: the output reads back the same") {
  std::minstd_rand random(7);
  static constexpr std::string_view kBytes = "ab\"\\\n{},= #\t\xc3\xa9";
  for (int round = 0; round < 200; ++round) {
    Bench bench;
    std::map<Key, double> expected;
    for (int i = 0; i < 20; ++i) {
      std::string value;
      for (size_t length = random() % 8 + 1; length > 0; --length) value += kBytes[random() % (kBytes.size() - 2)];
      const std::string pid = std::to_string(random() % 5);
      const std::string name = "m." + std::to_string(random() % 4);
      const double number = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 80) - 60);
      bench.metric({{"value", value}, {"pid", pid}}, name, number);
      expected[{"m_" + name.substr(2), {{"pid", pid}, {"value", value}}}] = number;
    }
    bench.write();
    const auto read = parse(bench.scrape());
    REQUIRE(read.size() == expected.size());
    for (const auto &[key, number] : expected) CHECK(std::stod(read.at(key)) == number);
  }
}

}  // namespace atalaya::prometheus::testing
