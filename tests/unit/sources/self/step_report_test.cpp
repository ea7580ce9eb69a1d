// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/self/step_report.h"

#include <doctest/doctest.h>

#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::self {
namespace {

constexpr int64_t kSecond = 1'000'000'000, kStart = 1'795'262'400 * kSecond;

struct Machine {
  core::ClockReading now{50 * kSecond, kStart, 50 * kSecond};
  proc::test::FakeHost host;
  StepReport report{host.host()};
  core::Batch spans;

  void pass(int64_t seconds) {
    now.monotonic += seconds * kSecond;
    now.realtime += seconds * kSecond;
    now.boottime += seconds * kSecond;
    Batch batch(host.host(), &spans.raw());
    report.add_span(now, batch);
  }
  int64_t steps() {
    core::Batch counts;
    Batch batch(host.host(), &counts.raw());
    Sample &sample = batch.add(ATALAYA_METRICS, 0, 1);
    report.add_count(sample, batch);
    return sample.fields[0].value.i64;
  }
};

TEST_CASE("each step of the wall clock is one span and counts once") {
  Machine machine;
  machine.pass(1);
  machine.pass(5);
  CHECK(machine.spans.count() == 0);
  CHECK(machine.steps() == 0);

  machine.now.realtime += 8 * 86'400 * kSecond;
  machine.pass(5);
  machine.pass(5);
  REQUIRE(machine.spans.count() == 1);
  const atalaya_sample &ahead = machine.spans.raw().samples[0];
  CHECK(ahead.kind == ATALAYA_SPAN);
  CHECK(view(ahead.text) == "clock step");
  CHECK(view(ahead.tags[0].value) == "ahead");
  CHECK(ahead.time_ns == kStart + 11 * kSecond);  // the first time that did not occur
  CHECK(ahead.duration_ns == 8 * 86'400 * kSecond);
  CHECK(ahead.fields[0].value.f64 == 8 * 86'400);

  machine.now.realtime -= 3600 * kSecond;
  machine.pass(5);
  REQUIRE(machine.spans.count() == 2);
  const atalaya_sample &back = machine.spans.raw().samples[1];
  CHECK(view(back.tags[0].value) == "back");
  CHECK(back.time_ns == machine.now.realtime);  // the first time that occurs twice
  CHECK(back.duration_ns == 3600 * kSecond);
  CHECK(back.fields[0].value.f64 == -3600);
  CHECK(machine.steps() == 2);
}

TEST_CASE("a suspend and slewing are no steps") {
  Machine machine;
  machine.pass(1);
  machine.now.realtime += 3600 * kSecond;
  machine.now.boottime += 3600 * kSecond;
  machine.pass(5);
  machine.now.realtime += 1'000'000;
  machine.pass(5);
  CHECK(machine.spans.count() == 0);
  CHECK(machine.steps() == 0);
}

}  // namespace
}  // namespace atalaya::self
