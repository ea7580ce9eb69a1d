// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/own_metrics.h"

#include <charconv>
#include <map>
#include <string>

#include "tests/unit/filters/stages/fixture.h"

namespace atalaya::testing {
namespace {

constexpr int64_t kMinute = 60 * kSecond;

// A hub whose clock and senders a test moves.
class Reported final : public Source {
 public:
  static constexpr Description description = {
      .name = "reported"_str, .summary = "for this test"_str, .metrics = receive::kOwnMetrics};
  static inline receive::Senders *senders = nullptr;
  static inline int64_t monotonic = 0, realtime = 0;

  explicit Reported(Host host) : own_(host, kMinute) { own_.start(monotonic, realtime); }
  Code collect(const Window &, Batch &batch) override {
    if (monotonic >= own_.due_ns()) own_.add(batch, *senders, 7, monotonic, realtime);
    return Code::ok;
  }

 private:
  receive::OwnMetrics own_;
};

struct Hub {
  receive::Senders senders{{}, [](std::string_view) {}};
  std::unique_ptr<Bench<Reported>> bench;

  Hub() {
    Reported::senders = &senders;
    Reported::monotonic = 5 * kSecond;
    Reported::realtime = kWindowTime + 20 * kSecond;  // of a minute that begins at :00
    bench = std::make_unique<Bench<Reported>>();
  }
  // -> the sums of all samples of the window that ends then
  std::map<std::string, int64_t> pass(int64_t time_ns) {
    Reported::monotonic += time_ns;
    Reported::realtime += time_ns;
    REQUIRE(bench->collect(window_at()).ok());
    std::map<std::string, int64_t> sums;
    for (uint64_t i = 0; i < bench->batch.count(); ++i) {
      const atalaya_sample &sample = bench->batch.raw().samples[i];
      for (uint32_t f = 0; f < sample.field_count; ++f)
        sums[std::string(bench->symbols.name(sample.fields[f].name))] += sample.fields[f].value.i64;
    }
    return sums;
  }
  const atalaya_sample &sample(uint64_t i) const { return bench->batch.raw().samples[i]; }
};

}  // namespace

TEST_CASE(
    "receive: each sender has its requests, bytes, samples and new series of the window; each window follows the one before") {
  static_assert(kWindowTime / kSecond % 60 == 20);
  Hub hub;
  const receive::SenderPtr a = hub.senders.find_or_add("10.0.0.1", 0), silent = hub.senders.find_or_add("10.0.0.2", 0);
  for (const unsigned status : {204u, 200u, 429u, 400u, 503u}) a->counts.count_answer(status);
  hub.senders.unidentified_sender().counts.count_answer(401);
  for (uint64_t series = 0; series < 3; ++series) a->series.add(series * 77);
  hub.senders.charge(*a, 100, 0, 0);
  a->counts.bytes += 100;
  a->counts.samples += 4;
  CHECK(hub.pass(19 * kSecond).empty());
  hub.pass(kSecond);
  CHECK(hub.bench->lines() ==
        Lines{"sender=unidentified | receive.requests.accepted=0i receive.requests.refused=1i receive.requests.throttled=0i "
              "receive.bytes=0i receive.samples=0i receive.series.new=0i",
              "sender=10.0.0.1 | receive.requests.accepted=2i receive.requests.refused=3i receive.requests.throttled=1i "
              "receive.bytes=100i receive.samples=4i receive.series.new=3i",
              "| receive.names=7i"});
  const int64_t end = Reported::realtime;
  CHECK(end % kMinute == 0);
  CHECK(hub.sample(0).time_ns == end);
  CHECK(hub.sample(0).duration_ns == 20 * kSecond);  // since the start
  // The same series again are not new; late by a second, the window still has its end.
  for (uint64_t series = 0; series < 4; ++series) a->series.add(series * 77);
  hub.senders.charge(*a, 0, 0, 1);
  CHECK(hub.pass(kMinute + kSecond).at("receive.series.new") == 1);
  CHECK(hub.sample(0).time_ns == end + kMinute);
  CHECK(hub.sample(0).duration_ns == kMinute);
  // Early, when the clock was slowed down.
  Reported::realtime -= 2 * kSecond;
  CHECK(hub.pass(kMinute - kSecond).at("receive.names") == 7);
  CHECK(hub.bench->batch.count() == 1);
  CHECK(hub.sample(0).time_ns == end + 2 * kMinute);
  CHECK(hub.sample(0).duration_ns == kMinute);
  CHECK(hub.pass(kMinute + 2 * kSecond).at("receive.names") == 7);
  CHECK(hub.sample(0).time_ns == end + 3 * kMinute);
}

TEST_CASE("receive: at most 64 senders have samples of their own, and the sums are exact") {
  Hub hub;
  int64_t requests = 0, bytes = 0;
  for (int number = 1; number <= 500; ++number) {
    receive::SenderCounts &counts = hub.senders.find_or_add("10.0." + std::to_string(number), 0)->counts;
    for (int i = 0; i < number; ++i) counts.count_answer(i % 3 == 0 ? 429 : 204);
    counts.bytes += 1000;
    requests += number;
    bytes += 1000;
  }
  const auto sums = hub.pass(kMinute);
  CHECK(sums.at("receive.requests.accepted") + sums.at("receive.requests.refused") == requests);
  CHECK(sums.at("receive.requests.throttled") == sums.at("receive.requests.refused"));
  CHECK(sums.at("receive.bytes") == bytes);
  const Lines lines = hub.bench->lines();
  REQUIRE(lines.size() == 64 + 1);
  CHECK(lines[63].starts_with("sender=other "));
  for (size_t i = 0; i < 63; ++i) {
    int number = 0;
    std::from_chars(lines[i].data() + 12, lines[i].data() + 15, number);
    CHECK(number > 500 - 63);
  }
  CHECK(hub.pass(kMinute).at("receive.names") == 7);
}

}  // namespace atalaya::testing
