// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/self/self_source.h"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <thread>

#include "tests/unit/filters/stages/fixture.h"

namespace atalaya::testing {

using self::SelfSource;

namespace {

// A window that ends at the clock of the bench.
atalaya_window window(const Bench<SelfSource> &bench, uint32_t flags = 0) {
  atalaya_window result = window_at();
  result.flags = flags;
  result.monotonic_ns = bench.surroundings.clock;
  return result;
}

atalaya_ledger_row row(uint32_t type, std::string_view component) {
  atalaya_ledger_row result{};
  result.struct_size = sizeof(result);
  result.type = type;
  result.pipeline = str("host");
  result.component = str(component);
  return result;
}

// All values of the first sample with these tags, by name.
std::map<std::string, double> fields(Bench<SelfSource> &bench, std::string_view component) {
  std::map<std::string, double> result;
  const uint32_t key = bench.symbols.intern("component");
  for (uint64_t i = 0; i < bench.batch.count(); ++i) {
    const atalaya_sample &sample = bench.batch.raw().samples[i];
    const atalaya_tag *tag = find_tag(sample, key);
    if ((tag == nullptr ? std::string_view() : view(tag->value)) != component) continue;
    for (uint32_t f = 0; f < sample.field_count; ++f)
      result[std::string(bench.symbols.name(sample.fields[f].name))] = as_double(sample.fields[f]);
    break;
  }
  return result;
}

int64_t cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

}  // namespace

TEST_CASE("self: its own cost agrees with the kernel's") {
  Bench<SelfSource> bench;
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  REQUIRE(bench.collect(window(bench)).ok());
  CHECK(fields(bench, "").count("self.cpu.user") == 0);
  for (const int64_t end = cpu_ns() + kSecond / 5; cpu_ns() < end;) {
  }
  bench.surroundings.clock += kSecond;
  REQUIRE(bench.collect(window(bench)).ok());
  getrusage(RUSAGE_SELF, &after);
  auto seen = fields(bench, "");
  const auto percent = [](const timeval &from, const timeval &to) {
    return static_cast<double>(to.tv_sec - from.tv_sec) * 100 + static_cast<double>(to.tv_usec - from.tv_usec) / 10000;
  };
  const double cpu = seen["self.cpu.user"] + seen["self.cpu.system"];
  CHECK(cpu >= 19.9);
  CHECK(cpu <= percent(before.ru_utime, after.ru_utime) + percent(before.ru_stime, after.ru_stime) + 0.02);
  CHECK(seen["self.mem.resident"] > 1);
  CHECK(seen["self.mem.resident"] <= static_cast<double>(after.ru_maxrss) / 1024 + 1);
  CHECK(seen["self.threads"] == 1);
  CHECK(seen["self.files"] >= 3);
  CHECK(seen["self.switches.voluntary"] <= static_cast<double>(after.ru_nvcsw));
}

TEST_CASE("self: a baseline window has no rates, and the next counts from it") {
  Bench<SelfSource> bench;
  bench.surroundings.rows = {row(ATALAYA_ROW_STAGE, "2 filter value")};
  REQUIRE(bench.collect(window(bench)).ok());
  bench.surroundings.clock += kSecond;
  bench.surroundings.rows[0].busy_ns = kSecond / 2;
  REQUIRE(bench.collect(window(bench, ATALAYA_WINDOW_BASELINE)).ok());
  CHECK(fields(bench, "").count("self.cpu.user") == 0);
  CHECK(fields(bench, "2 filter value").count("self.busy") == 0);
  bench.surroundings.clock += kSecond;
  bench.surroundings.rows[0].busy_ns += kSecond / 4;
  REQUIRE(bench.collect(window(bench)).ok());
  CHECK(fields(bench, "").count("self.cpu.user") == 1);
  CHECK(fields(bench, "2 filter value")["self.busy"] == 25);
  // A counter that starts again leaves a gap.
  bench.surroundings.clock += kSecond;
  bench.surroundings.rows[0].busy_ns = 1;
  REQUIRE(bench.collect(window(bench)).ok());
  CHECK(fields(bench, "2 filter value").count("self.busy") == 0);
}

TEST_CASE("self: the ledger as samples") {
  Bench<SelfSource> bench;
  auto source = row(ATALAYA_ROW_SOURCE, "1 source proc");
  source.out = 100;
  source.gaps = 2;
  auto stage = row(ATALAYA_ROW_STAGE, "2 filter top");
  stage.in = 100;
  stage.created = 1;
  stage.out = 21;
  stage.merged = 80;
  auto drop = row(ATALAYA_ROW_DROP, "3 sink http");
  drop.reason = str("queue full");
  drop.dropped = 5;
  auto sink = row(ATALAYA_ROW_SINK, "3 sink http");
  sink.in = 21;
  sink.out = 10;
  sink.dropped = 5;
  sink.dead_letter = 1;
  sink.queued = 5;
  sink.queued_bytes = 4096;
  sink.errors = 3;
  bench.surroundings.rows = {source, stage, sink, drop};
  REQUIRE(bench.collect(window(bench)).ok());
  auto lines = bench.lines();
  REQUIRE(lines.size() == 5);
  lines.erase(lines.begin());
  CHECK(lines ==
        Lines{"pipeline=host component=1 source proc | self.samples.out=100i self.gaps=2i self.errors=0i",
              "pipeline=host component=2 filter top | self.samples.in=100i self.samples.created=1i self.samples.out=21i "
              "self.samples.merged=80i self.samples.dropped=0i self.errors=0i",
              "pipeline=host component=3 sink http | self.sink.accepted=21i self.sink.delivered=10i self.sink.dead_letter=1i "
              "self.queue.samples=5i self.queue.bytes=4096i self.samples.dropped=5i self.errors=3i",
              "pipeline=host component=3 sink http reason=queue full | self.drops=5i"});
}

TEST_CASE("self declares all that it emits, with the right type") {
  Bench<SelfSource> bench;
  bench.surroundings.rows = {row(ATALAYA_ROW_SOURCE, "1"), row(ATALAYA_ROW_STAGE, "2"), row(ATALAYA_ROW_SINK, "3"),
                             row(ATALAYA_ROW_DROP, "3")};
  std::map<std::string, Metric> declared;
  for (const Metric &metric : self::kMetrics) declared.emplace(view(metric.name), metric);
  std::set<std::string> emitted = {"self.clock.step"};  // only in the span of a step
  for (int i = 0; i < 2; ++i) {
    bench.surroundings.clock += kSecond;
    REQUIRE(bench.collect(window(bench)).ok());
    for (uint64_t s = 0; s < bench.batch.count(); ++s)
      for (uint32_t f = 0; f < bench.batch.raw().samples[s].field_count; ++f) {
        const atalaya_field &field = bench.batch.raw().samples[s].fields[f];
        const std::string name(bench.symbols.name(field.name));
        REQUIRE_MESSAGE(declared.count(name) == 1, name);
        CHECK_MESSAGE((declared.at(name).decimals == -1) == (field.type == ATALAYA_I64), name);
        emitted.insert(name);
      }
  }
  CHECK(emitted.size() == declared.size());
}

TEST_CASE("self: missing lines or invalid values of a status file yield no metrics") {
  self::Reading reading;
  self::parse_status("Name:\tVmRSS: 5\nVmRSS:\t  2048 kB\nThreads:\t12\n", reading);
  CHECK(reading.resident_mib == 2.0);
  CHECK(reading.threads == 12);
  self::Reading none;
  self::parse_status("VmRSS:\nThreads:\t-1", none);
  CHECK_FALSE(none.resident_mib.has_value());
  CHECK_FALSE(none.threads.has_value());
  CHECK_FALSE(self::read_process("/nonexistent").open_files.has_value());
}

}  // namespace atalaya::testing
