// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/process_parse.h"

#include <doctest/doctest.h>

#include <string>

#include "plugins/shared/host/procfs/process_stat.h"

namespace atalaya::proc {
namespace {

std::string stat_of(const std::string &name, const std::string &user = "14") {
  return "7 (" + name + ") S 3 7 7 0 -1 4194304 10 0 12 0 " + user + " 15 0 0 20 -5 2 0 2200 4096 99 18446744073709551615 0\n";
}

bool parse(const std::string &text, procfs::ProcessReading &reading) {
  procfs::StatMark mark;
  return parse_stat(text, 100, reading, mark);
}

TEST_CASE("stat: fields by number, behind any name; the last number counts if something follows it") {
  const std::string fields = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 18446744073709551615 7";
  for (const std::string name : {"x", "a b) (c", ") S 1", ""}) {
    const std::string text = "12 (" + name + ")" + fields;
    const auto stat = procfs::ProcessStat::parse(text);
    REQUIRE(stat);
    CHECK(stat->name() == name);
    CHECK(stat->state() == 'S');
    CHECK((*stat)[4] == 1);
    CHECK((*stat)[22] == 4711);
    CHECK((*stat)[23] == UINT64_MAX);
    CHECK_FALSE(stat->has(24));
  }
  CHECK_FALSE(procfs::ProcessStat::parse("12 (x) S 1 2")->has(5));
  for (const char *bad : {"", "12", "12 (x", "12 )( S 1", "12 (x)", "12 (x) SS 1"}) CHECK_FALSE(procfs::ProcessStat::parse(bad));
}

TEST_CASE("stat: every field is taken from its place") {
  procfs::ProcessReading reading;
  procfs::StatMark mark;
  REQUIRE(parse_stat(stat_of("sshd"), 100, reading, mark));
  CHECK(reading.name.text() == "sshd");
  CHECK(reading.start_ns == 22'000'000'000);
  CHECK_FALSE(reading.kernel_thread);
  CHECK(reading.gauges.get(procfs::Gauge::state) == 'S');
  CHECK(reading.gauges.get(procfs::Gauge::parent) == 3);
  CHECK(reading.gauges.get(procfs::Gauge::threads) == 2);
  CHECK(reading.counters.get(procfs::Counter::faults_minor) == 10);
  CHECK(reading.counters.get(procfs::Counter::faults_major) == 12);
  CHECK(reading.counters.get(procfs::Counter::user_ns) == 140'000'000);
  CHECK(reading.counters.get(procfs::Counter::kernel_ns) == 150'000'000);
  CHECK(mark == procfs::StatMark{4096, 99});
}

TEST_CASE("stat: a name is the text between the first and the last parenthesis") {
  for (const std::string name :
       {"", " ", "a b) (c", ") S 1 1 1 (", "two\nlines", "señal", "\xff\xfe", "kworker/u8:3-events_unbound"}) {
    procfs::ProcessReading reading;
    REQUIRE(parse(stat_of(name), reading));
    CHECK(reading.name.text() == name);
    CHECK(reading.gauges.get(procfs::Gauge::parent) == 3);
  }
}

TEST_CASE("stat: a text that is cut off anywhere before its end is refused whole") {
  const std::string text = stat_of("sshd");
  const size_t start_ends = text.find(" 18446744073709551615");
  for (size_t size = 0; size < start_ends; ++size) {
    procfs::ProcessReading reading;
    CHECK_FALSE(parse(text.substr(0, size), reading));
    CHECK(reading.name.text().empty());
  }
}

TEST_CASE("stat: numbers out of this world are refused") {
  procfs::ProcessReading reading;
  CHECK_FALSE(parse(stat_of("x", "99999999999999999999999"), reading));
  CHECK_FALSE(parse(stat_of("x", "9223372036854775807"), reading));
  CHECK_FALSE(parse(stat_of("x", "-1"), reading));
  CHECK_FALSE(parse(stat_of("x", "1e3"), reading));
}

TEST_CASE("io and status: a line that is missing, malformed or cut off is unknown, the others count") {
  procfs::ProcessReading reading;
  parse_io("rchar: -5\nwchar: x\nsyscr: 7\n\nread_bytes:\nwrite_bytes: 81", reading);
  CHECK_FALSE(reading.counters.has(procfs::Counter::reads_bytes));
  CHECK_FALSE(reading.counters.has(procfs::Counter::writes_bytes));
  CHECK(reading.counters.get(procfs::Counter::reads_calls) == 7);
  CHECK_FALSE(reading.counters.has(procfs::Counter::disk_reads_bytes));
  CHECK_FALSE(reading.counters.has(procfs::Counter::disk_writes_bytes));  // it may have been 81920

  parse_status("Name:\tx\\nVmRSS:\t1 kB\nUid:\t1000\t1001\t0\t0\nVmSize:\t  300 kB\nVmRSS:\t  200 kB\n", reading);
  CHECK(reading.user == 1001);
  CHECK(reading.gauges.get(procfs::Gauge::virtual_kib) == 300);
  CHECK(reading.gauges.get(procfs::Gauge::resident_kib) == 200);
  CHECK_FALSE(reading.gauges.has(procfs::Gauge::swap_kib));

  parse_status("voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n", reading);
  CHECK(reading.user == -1);
  CHECK_FALSE(reading.gauges.has(procfs::Gauge::resident_kib));  // of the reading before
  CHECK(reading.counters.get(procfs::Counter::switches_voluntary) == 5);
  CHECK(reading.counters.get(procfs::Counter::switches_involuntary) == 6);
}

TEST_CASE("schedstat: a kernel that does not count is not a process that never waited") {
  procfs::ProcessReading reading;
  CHECK(parse_schedstat("1200 30 4\n", reading) == 1200);
  CHECK(reading.counters.get(procfs::Counter::delay_ns) == 30);
  CHECK(parse_schedstat("0 0 0\n", reading) == 0);
  CHECK_FALSE(reading.counters.has(procfs::Counter::delay_ns));
}

TEST_CASE("uptime and boot time") {
  uint64_t ns = 0;
  CHECK(procfs::parse_uptime("155.07 310.00\n", ns));
  CHECK(ns == 155'070'000'000);
  for (const char *text : {"", "155", "155.7", "155.123", ".07", "-1.00", "99999999999999999999.00", "18446744073709551615.99"})
    CHECK_FALSE(procfs::parse_uptime(text, ns));
  int64_t seconds = 0;
  CHECK(procfs::parse_boot_time("cpu  1 2\nintr 5 5\nbtime 1700000000\nprocesses 9\n", seconds));
  CHECK(seconds == 1'700'000'000);
  CHECK_FALSE(procfs::parse_boot_time("cpu  1 2\n", seconds));
  CHECK_FALSE(procfs::parse_boot_time("btime 9223372036854775807\n", seconds));
}

}  // namespace
}  // namespace atalaya::proc
