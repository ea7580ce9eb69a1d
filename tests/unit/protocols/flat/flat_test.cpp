// SPDX-License-Identifier: Apache-2.0
// Flat records as requests between agents: each rule of the reader, a record of another program, and random samples.
#include "plugins/shared/protocols/flat/flat_reader.h"

#include <doctest/doctest.h>

#include <limits>

#include "core/base/encode/flat.h"
#include "plugins/shared/protocols/base/sample_encoder.h"
#include "tests/unit/core/sample/sample_maker.h"
#include "tests/unit/protocols/random.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

using core::testing::Maker;

constexpr int64_t kTime = 1'795'219'532'123'456'789;

// "KIND TIME+DURATION TEXT KEY=VALUE... NAME:VALUE..."
class Samples final : public RecordReceiver {
 public:
  bool take(const Record &record) override {
    std::string line =
        std::to_string(record.kind) + " " + std::to_string(record.time_ns) + "+" + std::to_string(record.duration_ns);
    line.append(" ").append(record.text);
    for (const RecordTag &tag : record.tags) line.append(" ").append(tag.key).append("=").append(tag.value);
    for (const RecordField &field : record.fields) line.append(" ").append(field.name).append(":").append(number_text(field));
    lines.push_back(line);
    return true;
  }
  bool declare(std::string_view name, const atalaya_metric_info &info) override {
    declared.push_back(std::string(name) + " " + std::to_string(info.kind) + " " + std::to_string(info.decimals) + " " +
                       std::string(info.unit.data, info.unit.size) + " " + std::string(info.summary.data, info.summary.size));
    return true;
  }
  Lines lines, declared;
};

struct Body {
  explicit Body(std::string_view body) : account(FlatReader().read(body, {.details = true}, samples)) {}
  Samples samples;
  Account account;
};

std::unique_ptr<SampleEncoder> writer_of(Maker &maker) {
  return make_flat(maker.name_of(), [&maker](uint32_t id) -> std::optional<MetricInfo> {
    if (maker.symbols.name(id) != "acme.jobs") return std::nullopt;
    return MetricInfo{.kind = ATALAYA_DELTA, .decimals = -1, .unit = "{job}", .summary = "A summary."};
  });
}
std::string written(Maker &maker, SampleEncoder &writer) {
  std::string out;
  writer.encode({maker.batch.raw().samples, maker.batch.count()}, out);
  return out;
}
std::string written(Maker &maker) {
  return written(maker, *writer_of(maker));
}

}  // namespace

TEST_CASE("flat: the record of another program is read, and our writer writes the same bytes") {
  const std::string peer = fixture("flat/python.bin");
  const Body body(peer);
  CHECK(body.account.fatal == "");
  CHECK(body.samples.declared == Lines{"acme.jobs 3 -1 {job} A summary."});
  CHECK(body.samples.lines == Lines{"0 1795219532123456789+5000000000  host=h pid=7 acme.jobs:-3i acme.load:0.25",
                                    "1 1795219532123456789+5000000000 main;w\xc3\xb6rk host=h",
                                    "2 1795219532123456790+-1 map job="});
  Maker maker;
  atalaya_sample &jobs = maker.add(ATALAYA_METRICS, {{"host", "h"}, {"pid", "7"}});
  maker.count(jobs, "acme.jobs", -3);
  maker.field(jobs, "acme.load", 0.25);
  maker.add(ATALAYA_STACK, {{"host", "h"}}, "main;w\xc3\xb6rk");
  atalaya_sample &span = maker.add(ATALAYA_SPAN, {{"job", ""}}, "map");
  span.time_ns = kTime + 1;
  span.duration_ns = -1;
  CHECK((written(maker) == peer));
}

TEST_CASE("flat: the writer declares a metric once, and again when the server may have lost it") {
  Maker maker;
  maker.count(maker.add(ATALAYA_METRICS, {}), "acme.jobs", 3);
  const auto writer = writer_of(maker);
  const auto declared = [&] { return Body(written(maker, *writer)).samples.declared.size(); };
  CHECK(declared() == 1);
  CHECK(declared() == 0);
  writer->forget();
  CHECK(declared() == 1);
}

TEST_CASE("flat: a sample that breaks a rule is refused alone, with its number and the reason") {
  Maker maker;
  maker.count(maker.add(ATALAYA_METRICS, {{"host", "h"}}), "x", 1);
  maker.add(ATALAYA_METRICS, {}).time_ns = 0;
  maker.add(ATALAYA_SPAN, {}).duration_ns = -2;
  maker.batch.add_tag(maker.add(ATALAYA_METRICS, {}), 0, "no name");
  maker.batch.add_field(maker.add(ATALAYA_METRICS, {}), {0, ATALAYA_I64, {}});
  atalaya_sample &many = maker.add(ATALAYA_METRICS, {});
  for (int i = 0; i < 1025; ++i) maker.batch.add_tag(many, maker.symbols.intern("host"), "h");
  atalaya_sample &enough = maker.add(ATALAYA_SPAN, {}, "most");
  for (int i = 0; i < 1024; ++i) maker.batch.add_field(enough, {maker.symbols.intern("x"), ATALAYA_I64, {}});
  const Body body(written(maker));
  CHECK(body.account.good == 2);
  CHECK(body.account.failed == 5);
  CHECK(body.samples.lines.size() == 2);
  CHECK(body.account.errors == R"({"sample":1,"error":"time: must be nanoseconds after 1970"},)"
                               R"({"sample":2,"error":"duration: must be nanoseconds"},)"
                               R"({"sample":3,"error":"Invalid tag name: empty string"},)"
                               R"({"sample":4,"error":"Metric name was empty"},)"
                               R"({"sample":5,"error":"more than 1024 tags or fields"})");
}

TEST_CASE("flat: values that are not finite are left out of their sample") {
  Maker maker;
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, {});
  maker.field(sample, "a", std::numeric_limits<double>::quiet_NaN());
  maker.field(sample, "b", 1.5);
  maker.field(sample, "c", -std::numeric_limits<double>::infinity());
  CHECK(Body(written(maker)).samples.lines == Lines{"0 1795219532123456789+5000000000  b:1.5"});
}

TEST_CASE("flat: each cut and each changed byte of a body refuses the whole body") {
  const std::string record = fixture("flat/python.bin"), whole = record + record;
  CHECK(Body(whole).account.good == 6);
  for (size_t size = 1; size < whole.size(); ++size) {
    if (size == record.size()) continue;
    const Body body(std::string_view(whole).substr(0, size));
    CAPTURE(size);
    REQUIRE(body.account.fatal != "");
    REQUIRE(body.account.good == 0);
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    CAPTURE(at);
    REQUIRE(Body(damaged).account.fatal != "");
  }
}

TEST_CASE("flat: the reader returns random samples as they were written") {
  static const std::vector<std::string> names = {"host", "pid", "acme.jobs", "a", "b\xc3\xa9"};
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Random random(seed);
    Maker maker;
    Lines expected;
    for (uint64_t i = random.between(1, 6); i > 0; --i) {
      const auto kind = static_cast<uint32_t>(random.below(3));
      const std::string text = random.one_of(3) ? "" : random.text("a;b\n\xff", 9);
      atalaya_sample &sample = maker.add(kind, {}, text);
      sample.time_ns = static_cast<int64_t>(random.between(1, uint64_t{1} << 62));
      sample.duration_ns = static_cast<int64_t>(random.below(uint64_t{1} << 62)) - 1;
      std::string line =
          std::to_string(kind) + " " + std::to_string(sample.time_ns) + "+" + std::to_string(sample.duration_ns) + " " + text;
      for (uint64_t k = random.below(4); k > 0; --k) {
        const std::string name = random.pick(names), value = random.one_of(4) ? "" : random.text("xyz =", 5);
        maker.batch.add_tag(sample, maker.symbols.intern(name), value);
        line.append(" ").append(name).append("=").append(value);
      }
      for (uint64_t k = random.below(4); k > 0; --k) {
        const std::string name = random.pick(names);
        if (random.one_of(2)) {
          const auto count = static_cast<int64_t>(random.below(uint64_t{1} << 63)) * (random.one_of(2) ? -1 : 1);
          maker.count(sample, name, count);
          line.append(" ").append(name).append(":").append(std::to_string(count)).append("i");
        } else {
          const double value = static_cast<double>(random.below(1'000'000)) / 8;
          maker.field(sample, name, value);
          line.append(" ").append(name).append(":").append(real_text(value));
        }
      }
      expected.push_back(line);
    }
    CAPTURE(seed);
    REQUIRE(Body(written(maker)).samples.lines == expected);
  }
}

TEST_CASE("flat: mutated records with right checksums are refused, or have whole samples") {
  const std::string record = fixture("flat/python.bin");
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    Random random(seed);
    std::string mutated = record;
    for (uint64_t i = random.between(1, 3); i > 0; --i)
      mutated[random.between(16, mutated.size() - 1)] = static_cast<char>(random.below(random.one_of(2) ? 4 : 256));
    core::seal_flat(mutated.data(), mutated.size());
    const Body body(mutated);
    CAPTURE(seed);
    REQUIRE(body.samples.lines.size() == body.account.good);
    REQUIRE(body.account.good + body.account.failed <= mutated.size());
    if (!body.account.fatal.empty()) REQUIRE(body.account.good == 0);
  }
}

}  // namespace atalaya::protocols::testing
