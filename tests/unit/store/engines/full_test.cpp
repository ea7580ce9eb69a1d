// SPDX-License-Identifier: Apache-2.0
// A store at its max_size: what it accepted can be read back for `min_retain`, whatever it was filled with.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>

#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {
namespace {

constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kYoung = 5 * kMinute;

// False: the store refused it, as a store that is full does.
bool write(Writer &writer, const Samples &samples, int64_t now_ns) {
  try {
    writer.write(samples.span(), now_ns);
  } catch (const Error &error) {
    REQUIRE(error.cause() == Cause::full);
    return false;
  }
  writer.maintain(now_ns);
  return true;
}

bool write_host(TestStore &store, Writer &writer, int64_t now_ns) {
  return write(writer, store.samples().metrics(now_ns, {{"host", "h"}}).real("load", static_cast<double>(now_ns % kDay)), now_ns);
}

Samples &add_spans(Samples &samples, int64_t now_ns, int first, int count) {
  for (int i = 0; i < count; ++i)
    samples.add(ATALAYA_SPAN, now_ns, -1, {{"job", std::to_string(first + i)}}, "task " + std::to_string(first + i));
  return samples;
}

TEST_CASE("open spans that fill the store cost no sample that was accepted since, and go when they are old") {
  TestStore store;
  Writer writer = store.writer({.max_bytes = 4 << 20, .min_retain_ns = kYoung});
  int64_t now = kNow;
  bool is_full = false;
  for (int i = 0; i < 20 && !is_full; ++i) {
    auto spans = store.samples();
    now += kSecond;
    is_full = !write(writer, add_spans(spans, now, i * 5000, 5000), now);
  }
  CHECK(is_full);
  CHECK_FALSE(write_host(store, writer, now));
  for (; !write_host(store, writer, now); now += kMinute) REQUIRE(now < kNow + 10 * kMinute);
  for (int i = 0; i < 10; ++i) CHECK(write_host(store, writer, now += kSecond));
  CHECK(store.scan("load", "host", "h").size() == 11);
}

TEST_CASE("unique series that fill the store go with their samples") {
  TestStore store;
  Writer writer = store.writer({.max_bytes = 4 << 20, .min_retain_ns = kYoung});
  int64_t now = kNow, accepted = 0;
  for (int batch = 0; batch < 300; ++batch) {
    auto samples = store.samples();
    for (int i = 0; i < 500; ++i)
      samples.metrics(now, {{"id", std::to_string(batch * 500 + i)}, {"other", "0123456789abcdef"}}).real("value", i);
    accepted += write(writer, samples, now) ? 1 : 0;
    now += 10 * kSecond;
  }
  CHECK(accepted > 150);  // about twenty fit in the time that is kept
  CHECK(store.number("PRAGMA page_count") * store.number("PRAGMA page_size") < 12 << 20);
  CHECK(store.number("SELECT count(*) FROM entities") < 50'000);
}

TEST_CASE("metric names that nothing uses any more are deleted from a full store") {
  TestStore store;
  Writer writer = store.writer({.max_bytes = 2 << 20, .min_retain_ns = kYoung});
  int64_t now = kNow;
  const std::string name(200, 'm');
  for (int batch = 0; batch < 100; ++batch) {
    auto samples = store.samples();
    for (int i = 0; i < 200; ++i)
      samples.metrics(now, {{"host", std::to_string(batch)}}).real(name + std::to_string(batch * 200 + i), i);
    write(writer, samples, now);
    now += kMinute;
  }
  CHECK(store.number("SELECT count(*) FROM metrics") < 20'000);
  CHECK(write_host(store, writer, now + 2 * kHour));
  CHECK(store.scan("load", "host", "h").size() == 1);
}

TEST_CASE("a sample that comes late for an old window is as young as any other") {
  TestStore store;
  Writer writer = store.writer({.max_bytes = 2 << 20, .min_retain_ns = kYoung});
  const int64_t old = kNow;
  write_host(store, writer, old);
  const int64_t now = kNow + kDay;
  write(writer, store.samples().metrics(old, {{"host", "late"}}).real("load", 1), now);
  for (int batch = 0; batch < 40; ++batch) {
    auto spans = store.samples();
    write(writer, add_spans(spans, now + batch, batch * 1000, 1000), now + batch);
  }
  CHECK(store.scan("load", "host", "late").size() == 1);
}

TEST_CASE("a clock that is set back does not fill the store for a day") {
  TestStore store;
  Writer writer = store.writer({.max_bytes = 2 << 20, .min_retain_ns = kYoung});
  core::ClockReading clocks{0, kNow + kDay, kSecond};
  for (int i = 0; i < 20; ++i) {
    auto samples = store.samples();
    for (int k = 0; k < 1000; ++k) samples.metrics(kNow + kDay + i, {{"pid", std::to_string(k)}}).real("a", 0.123456 + k);
    write(writer, samples, writer.arrival(clocks));
    clocks.boottime += kSecond;
  }
  clocks.realtime = kNow;
  clocks.boottime += kYoung + kLateNs;
  int64_t accepted = 0;
  for (int i = 0; i < 50; ++i, clocks.boottime += kSecond) accepted += write_host(store, writer, writer.arrival(clocks)) ? 1 : 0;
  CHECK(accepted == 50);
  CHECK(store.scan("load", "host", "h").size() == 50);
}

// ---- The law: delivered = can be read back
// ---------------------------------------------------------------------------------------

struct Promise {
  int64_t arrived_ns = 0;
  std::string name;  // of a span; of a sample its process
};

class Senders {
 public:
  explicit Senders(uint32_t seed) : dice_(seed) {}

  void run(int batches) {
    open();
    for (int i = 0; i < batches; ++i) {
      if (roll(200) == 0) open();  // the agent starts again
      send();
      now_ += static_cast<int64_t>(roll(20)) * kSecond;
      if (i % 100 == 99) check();
    }
    CHECK(accepted_ > batches / 10);
    for (int i = 0; i < kUntilFull && refused_ == 0; ++i) send();  // the time stands still, so that nothing can be deleted
    CHECK(refused_ > 0);
    check();
  }

 private:
  static constexpr int kUntilFull = 2000;  // batches; some hundred fill the store

  uint32_t roll(uint32_t sides) { return static_cast<uint32_t>(dice_() % sides); }

  void open() {
    writer_.reset();
    writer_.emplace(Options{store_.path, {.retain_ns = kDay, .max_bytes = 3 << 20, .min_retain_ns = kYoung}, false},
                    store_.names());
  }

  void send() {
    auto samples = store_.samples();
    std::vector<Promise> promises;
    const uint32_t kind = roll(4);
    const uint32_t count = 1 + roll(roll(10) == 0 ? 3000 : 100);
    for (uint32_t i = 0; i < count; ++i) {
      const std::string name = (kind == 0 ? "usual " + std::to_string(i) : "only " + std::to_string(++unique_));
      const int64_t time_ns = now_ - static_cast<int64_t>(roll(20) == 0 ? roll(100'000) : 0) * kSecond;
      if (kind == 3) {
        samples.add(ATALAYA_SPAN, time_ns, roll(2) == 0 ? -1 : 1, {{"job", name}}, name);
      } else {
        samples.metrics(time_ns, {{"process", name}}).real(kind == 2 ? "metric " + name : "load", i);
      }
      promises.push_back({now_, name + " at " + std::to_string(time_ns)});
    }
    if (!write(*writer_, samples, now_)) {
      ++refused_;
      return;
    }
    ++accepted_;
    promises_.insert(promises_.end(), promises.begin(), promises.end());
  }

  void check() {
    while (!promises_.empty() && promises_.front().arrived_ns <= now_ - kYoung) promises_.pop_front();
    SqliteStore reader(store_.path);
    std::set<std::string> found;
    reader.spans({}, [&](const Span &span) { found.insert(std::string(span.name) + " at " + std::to_string(span.start_ns)); });
    const auto series = reader.series({}, SIZE_MAX);
    struct Collect final : PointVisitor {
      const std::vector<Series> &series;
      std::set<std::string> &found;
      Collect(const std::vector<Series> &all, std::set<std::string> &into) : series(all), found(into) {}
      void points(size_t which, const Points &points) override {
        for (const int64_t time_ns : points.times_ns)
          found.insert(series[which].tags.at("process") + " at " + std::to_string(time_ns));
      }
    } collect(series, found);
    reader.scan(series, {}, collect);
    const auto lost =
        std::count_if(promises_.begin(), promises_.end(), [&](const Promise &one) { return !found.contains(one.name); });
    REQUIRE(lost == 0);
  }

  std::mt19937 dice_;
  TestStore store_;
  std::optional<Writer> writer_;
  int64_t now_ = kNow;
  int unique_ = 0, accepted_ = 0, refused_ = 0;
  std::deque<Promise> promises_;
};

TEST_CASE("whatever senders mix at the size limit, accepted data can be read back for the time that is kept") {
  const char *given = std::getenv("ATALAYA_TEST_SEED");
  const uint32_t seed = given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10)) : std::random_device()();
  CAPTURE(seed);
  Senders(seed).run(500);
}

}  // namespace
}  // namespace atalaya::store::test
