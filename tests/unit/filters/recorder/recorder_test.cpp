// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/recorder/recorder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/rounds.h"
#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::recorder {
namespace {

constexpr int64_t kWindow = 100'000'000, kSecond = 1'000'000'000;
constexpr size_t kLarge = size_t{8} << 20;

// Windows of samples whose only field is their number.
struct Windows {
  explicit Windows(const Limits &limits) : recorder(limits) {}

  void add(int64_t window, uint64_t samples, size_t text = 0) {
    in.clear();
    Batch batch(host.host(), &in.raw());
    for (uint64_t i = 0; i < samples; ++i) {
      Sample &sample = batch.add(ATALAYA_METRICS, 1, 1);
      batch.tag(sample, tag, std::string(text, 'x'));
      batch.field(sample, field, static_cast<int64_t>(next));
      texts[next] = text;
      times[next++] = window * kWindow;
    }
    Window now{};
    now.time_ns = window * kWindow;
    now.duration_ns = kWindow;
    recorder.add(now, batch.samples());
  }
  // The numbers that pass, in their order.
  std::vector<int64_t> pass(uint64_t max_samples = UINT64_MAX) {
    out.clear();
    Batch batch(host.host(), &out.raw());
    complete = recorder.pass(batch, max_samples);
    std::vector<int64_t> numbers;
    for (const Sample &sample : batch.samples()) {
      REQUIRE(sample.field_count == 1);
      REQUIRE(sample.tag_count == 1);
      const int64_t number = sample.fields[0].value.i64;
      CHECK(sample.time_ns == times.at(number));
      CHECK(sample.duration_ns == kWindow);
      numbers.push_back(number);
    }
    return numbers;
  }

  proc::test::FakeHost host;
  uint32_t tag = host.host().intern("t"), field = host.host().intern("f");
  core::Batch in, out;
  Recorder recorder;
  std::map<int64_t, int64_t> times;  // of all samples
  std::map<int64_t, size_t> texts;   // the length of each one's tag
  int64_t next = 0;
  std::optional<Recording> complete;
};

Limits limits_of(int64_t keep_s, int64_t after_s, int64_t longest_s, size_t bytes = kLarge) {
  return {.bytes = bytes, .keep_ns = keep_s * kSecond, .after_ns = after_s * kSecond, .longest_ns = longest_s * kSecond};
}

TEST_CASE("nothing passes without a trigger; a trigger passes the time before and after it, without a gap") {
  Windows windows(limits_of(5, 2, 60));
  std::vector<int64_t> passed;
  for (int64_t window = 1; window <= 200; ++window) {
    windows.add(window, 3);
    if (window == 100) windows.recorder.trigger({"alert=x", 3 * kSecond, false}, window * kWindow);
    for (const int64_t number : windows.pass(20)) passed.push_back(number);
    if (windows.complete) {
      CHECK(windows.complete->samples == passed.size());
      CHECK(windows.complete->cause == "alert=x");
      CHECK(windows.complete->lost == 0);
    }
  }
  // 30 windows before, with that of the trigger, and 20 after it: in their order.
  std::vector<int64_t> expected;
  for (const auto &[number, time_ns] : windows.times)
    if (time_ns > 70 * kWindow && time_ns <= 120 * kWindow) expected.push_back(number);
  CHECK(passed == expected);
}

// Of random windows and triggers: each sample passes at most once, and exactly those of the union of the recordings do.
TEST_CASE("a recording is whole, and no sample passes twice") {
  std::mt19937 random(3);
  for (uint32_t round = 0; round < test::rounds(60); ++round) {
    const int64_t keep = 1 + static_cast<int64_t>(random() % 5), after = static_cast<int64_t>(random() % 3);
    Windows windows(limits_of(keep, after, 10));
    std::set<int64_t> passed, expected;
    int64_t from_ns = 0, until_ns = 0, first_ns = 0;
    for (int64_t window = 1; window <= 400; ++window) {
      const int64_t now_ns = window * kWindow;
      windows.add(window, random() % 4);
      for (auto more = random() % 40 == 0 ? 1 + random() % 3 : 0; more > 0; --more) {
        const int64_t last_ns = static_cast<int64_t>(random() % 7) * kSecond;
        if (!windows.recorder.recording()) {
          first_ns = now_ns;
          from_ns = INT64_MAX;
          until_ns = now_ns;
        }
        windows.recorder.trigger({"x", last_ns, true}, now_ns);
        from_ns = std::min(from_ns, now_ns - std::min(last_ns, keep * kSecond));
        until_ns = std::max(until_ns, std::min(now_ns + after * kSecond, first_ns + 10 * kSecond));
      }
      for (const auto &[number, time_ns] : windows.times)
        if (time_ns > from_ns && time_ns <= until_ns && time_ns > now_ns - keep * kSecond) expected.insert(number);
      for (const int64_t number : windows.pass()) CHECK(passed.insert(number).second);
    }
    CHECK(passed == expected);
    CHECK(windows.recorder.lost() == 0);
  }
}

// The ring is far too small for the time: it holds whole windows, the last ones, and what it says it lost.
TEST_CASE("a ring of limited size has the last windows, unchanged") {
  std::mt19937 random(11);
  for (uint32_t round = 0; round < test::rounds(40); ++round) {
    constexpr size_t kBytes = 20'000;
    Windows windows(limits_of(60, 0, 60, kBytes));
    std::vector<std::pair<int64_t, int64_t>> begins;  // window, first number
    for (int64_t window = 1; window <= 300; ++window) {
      begins.emplace_back(window, windows.next);
      windows.add(window, random() % 20, random() % 100);
    }
    windows.recorder.trigger({"x", std::nullopt, true}, 300 * kWindow);
    const std::vector<int64_t> passed = windows.pass();
    REQUIRE_FALSE(passed.empty());
    CHECK(passed.back() >= begins.back().second - 1);
    for (size_t i = 1; i < passed.size(); ++i) CHECK(passed[i] == passed[i - 1] + 1);
    const auto is_begin = [&](const auto &one) { return one.second == passed.front(); };
    CHECK(std::any_of(begins.begin(), begins.end(), is_begin));
    size_t bytes = 0;
    for (const int64_t number : passed) bytes += windows.texts.at(number);
    CHECK(bytes <= kBytes);
    CHECK(bytes > kBytes / 4);  // they fill it
  }
}

// Numbers of all kinds, to the last bit; samples with a time of their own; texts with any byte.
TEST_CASE("a sample leaves the ring as it came") {
  proc::test::FakeHost host;
  std::mt19937_64 random(23);
  const auto any_double = [&]() -> double {
    switch (random() % 6) {
      case 0:
        return 0;
      case 1:
        return static_cast<double>(static_cast<int64_t>(random() % 2'000'001) - 1'000'000) / 1000;
      case 2:
        return static_cast<double>(random() % 1000) / 7;
      case 3:
        return std::bit_cast<double>((random() & ~(uint64_t{0x7ff} << 52)) | (random() % 0x7ff) << 52);  // any finite one
      case 4:
        return -0.0;
      default:
        return static_cast<double>(random() >> 20) * 1000;
    }
  };
  for (uint32_t round = 0; round < test::rounds(200); ++round) {
    core::Batch in, out;
    Batch batch(host.host(), &in.raw());
    for (uint64_t i = 0, samples = random() % 5 + 1; i < samples; ++i) {
      const auto tags = static_cast<uint32_t>(random() % 4), fields = static_cast<uint32_t>(random() % 40);
      Sample &sample = batch.add(static_cast<uint32_t>(random() % 3), tags, fields);
      if (random() % 2 == 0) {
        sample.time_ns = static_cast<int64_t>(random());
        sample.duration_ns = random() % 2 == 0 ? -1 : static_cast<int64_t>(random() % kSecond);
      }
      const std::string any(random() % 300, static_cast<char>(random()));
      for (uint32_t t = 0; t < tags; ++t) batch.tag(sample, static_cast<uint32_t>(random()), any);
      if (random() % 2 == 0) sample.text = batch.copy(any);
      for (uint32_t f = 0; f < fields; ++f)
        if (random() % 2 == 0)
          batch.field(sample, static_cast<uint32_t>(random()), static_cast<int64_t>(random() >> random() % 64));
        else
          batch.field(sample, static_cast<uint32_t>(random() % 500), any_double());
    }
    Window window{};
    window.time_ns = static_cast<int64_t>(random() % (1000 * kSecond)) + 1;
    window.duration_ns = kWindow;
    PackedRing ring(kLarge);
    REQUIRE(ring.push(window, batch.samples(), [](const RingEntry &) {}));
    Batch unpacked(host.host(), &out.raw());
    ring.append_to(unpacked, ring.entries().front());
    REQUIRE(unpacked.samples().size() == batch.samples().size());
    for (size_t i = 0; i < batch.samples().size(); ++i) {
      const Sample &before = batch.samples()[i], &after = unpacked.samples()[i];
      const bool is_of_window = before.time_ns == 0;
      CHECK(after.time_ns == (is_of_window ? window.time_ns : before.time_ns));
      CHECK(after.duration_ns == (is_of_window ? window.duration_ns : before.duration_ns));
      CHECK(after.kind == before.kind);
      CHECK(view(after.text) == view(before.text));
      REQUIRE(after.tag_count == before.tag_count);
      for (uint32_t t = 0; t < before.tag_count; ++t) {
        CHECK(after.tags[t].key == before.tags[t].key);
        CHECK(view(after.tags[t].value) == view(before.tags[t].value));
      }
      REQUIRE(after.field_count == before.field_count);
      for (uint32_t f = 0; f < before.field_count; ++f) {
        CHECK(after.fields[f].name == before.fields[f].name);
        CHECK(after.fields[f].type == before.fields[f].type);
        CHECK(after.fields[f].value.i64 == before.fields[f].value.i64);
      }
    }
  }
}

TEST_CASE("a window that is larger than the ring is refused, and none of its memory stays") {
  proc::test::FakeHost host;
  core::Batch samples;
  Batch batch(host.host(), &samples.raw());
  const std::string text(1000, 'x');
  for (int i = 0; i < 10'000; ++i) batch.add(ATALAYA_METRICS, 0, 0).text = batch.copy(text);
  Window window{};
  window.time_ns = kWindow;
  PackedRing ring(20'000);
  REQUIRE(ring.push(window, batch.samples().first(3), [](const RingEntry &) {}));
  CHECK_FALSE(ring.push(window, batch.samples(), [](const RingEntry &) {}));
  CHECK(ring.spare_bytes() < 1000);
  CHECK(ring.entries().size() == 1);
  CHECK(ring.push(window, batch.samples().first(19), [](const RingEntry &) {}));
}

TEST_CASE("a ring has the memory of its windows, and never more than its size") {
  proc::test::FakeHost host;
  core::Batch samples;
  Batch batch(host.host(), &samples.raw());
  for (int i = 0; i < 200; ++i) batch.add(ATALAYA_METRICS, 0, 0).text = batch.copy(std::string(1000, 'x'));
  std::mt19937 random(7);
  constexpr size_t kBytes = size_t{2} << 20;
  PackedRing ring(kBytes);
  size_t maximum = 0;
  for (int64_t window = 1; window <= 5000; ++window) {
    Window now{};
    now.time_ns = window * kWindow;
    now.duration_ns = kWindow;
    // Few samples in the first half: 100 windows with 10 KB each. Then more than fits.
    const bool is_busy = window > 2500;
    ring.drop_until(now.time_ns - 100 * kWindow, [](const RingEntry &) { return false; });
    bool dropped = false;
    REQUIRE(ring.push(now, batch.samples().first(is_busy ? random() % 200 : random() % 20),
                      [&](const RingEntry &) { dropped = true; }));
    maximum = std::max(maximum, ring.bytes());
    if (!is_busy) {
      CHECK(ring.bytes() < size_t{1600} << 10);
      CHECK_FALSE(dropped);
    }
  }
  CHECK(maximum <= kBytes);
  CHECK(maximum > kBytes / 10 * 9);
}

TEST_CASE("windows that leave before they pass are counted") {
  Windows windows(limits_of(1, 1, 60));
  for (int64_t window = 1; window <= 10; ++window) windows.add(window, 10);
  windows.recorder.trigger({"x", std::nullopt, false}, 10 * kWindow);
  uint64_t passed = 0;
  for (int64_t window = 11; window <= 40; ++window) {
    windows.add(window, 100);  // faster than they pass
    passed += windows.pass(50).size();
    if (windows.complete) CHECK(windows.complete->samples == passed);
  }
  CHECK(windows.recorder.lost() == 0);  // one window always passes
  Windows slow(limits_of(60, 1, 60, 4000));
  for (int64_t window = 1; window <= 10; ++window) slow.add(window, 5, 50);
  slow.recorder.trigger({"x", std::nullopt, false}, 10 * kWindow);
  slow.add(11, 60, 50);
  CHECK(slow.recorder.lost() > 0);
  CHECK(slow.recorder.recording()->lost == slow.recorder.lost());
}

TEST_CASE("a hundred triggers in a minute make one recording, and each window passes once") {
  Windows windows(limits_of(30, 10, 60));
  uint64_t passed = 0, recordings = 0, triggers = 0;
  for (int64_t window = 1; window <= 1500; ++window) {
    windows.add(window, 2);
    if (window > 300 && window <= 900 && window % 6 == 0) {
      windows.recorder.trigger({"alert=x", std::nullopt, false}, window * kWindow);
      ++triggers;
    }
    passed += windows.pass(10).size();
    recordings += windows.complete ? 1 : 0;
    if (windows.complete) CHECK(windows.complete->triggers <= triggers);
  }
  CHECK(triggers == 100);
  CHECK(recordings == 1);
  CHECK(passed == 2 * (294 + 606));  // 30 s before the first trigger; at most a minute after it: from window 7 to 906
}

TEST_CASE("triggers that never end record at most half of the time; a user is not refused") {
  Windows windows(limits_of(5, 10, 20));
  std::set<int64_t> passed;
  for (int64_t window = 1; window <= 4000; ++window) {
    windows.add(window, 1);
    windows.recorder.trigger({"record=1", 0, false}, window * kWindow);
    for (const int64_t number : windows.pass()) passed.insert(number);
  }
  CHECK(passed.size() > 1800);
  CHECK(passed.size() <= 2200);
  CHECK(windows.recorder.ignored() > 1500);
  CHECK(windows.recorder.trigger({"user", 0, true}, 4000 * kWindow) != nullptr);
}

}  // namespace
}  // namespace atalaya::recorder
