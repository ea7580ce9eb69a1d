// SPDX-License-Identifier: Apache-2.0
// Requests of remote write, decoded field by field with the numbers of prompb.
#include "plugins/shared/protocols/prometheus/remote_write.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <protozero/pbf_reader.hpp>

#include "tests/unit/core/sample/sample_maker.h"
#include "tests/unit/declarations.h"
#include "tests/unit/protocols/random.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {
namespace {

using core::testing::Maker;
constexpr int64_t kSecond = 1'000'000'000;
constexpr std::string_view kCollision = "another metric has the same exposed name";

std::string text_of(protozero::pbf_reader &reader) {
  return reader.get_string();
}

// "label=value,... value @ms ..." for each series; a staleness marker is "stale".
Lines decode(const std::string &body) {
  Lines lines;
  for (protozero::pbf_reader request(body); request.next(1);) {
    protozero::pbf_reader series = request.get_message();
    std::string labels, points;
    while (series.next()) {
      const protozero::pbf_tag_type tag = series.tag();  // unknown once the field is read
      protozero::pbf_reader part = series.get_message();
      if (tag == 1) {
        while (part.next()) {
          labels += part.tag() == 1 ? (labels.empty() ? "" : ",") : "=";
          labels += text_of(part);
        }
        continue;
      }
      double value = 0;
      int64_t time = 0;
      while (part.next()) {
        if (part.tag() == 1)
          value = part.get_double();
        else if (part.tag() == 2)
          time = part.get_int64();
        else
          part.skip();
      }
      const bool stale = std::bit_cast<uint64_t>(value) == 0x7ff0000000000002;
      points += " " + (stale ? "stale" : real_text(value)) + " @" + std::to_string(time);
    }
    lines.push_back(labels + points);
  }
  return lines;
}

struct Writer {
  Maker maker;
  atalaya::testing::Declarations declared;
  std::unique_ptr<MessageEncoder> encoder;
  std::string body, refusal;

  explicit Writer(const RemoteWriteOptions &options = {})
      : encoder(make_remote_write(maker.name_of(), declared.metric_of(maker.name_of()), options)) {}

  atalaya_sample &add(const Maker::Tags &tags, int64_t end) {
    atalaya_sample &sample = maker.add(ATALAYA_METRICS, tags);
    sample.time_ns = end * kSecond;
    sample.duration_ns = 5 * kSecond;
    return sample;
  }
  // The series of the added samples.
  Lines write() {
    body.clear();
    for (uint64_t i = 0; i < maker.batch.count(); ++i)
      if (const std::string_view reason = encoder->append(maker.batch.raw().samples[i], body); !reason.empty()) refusal = reason;
    encoder->end_batch(body);
    maker.batch.clear();
    return decode(body);
  }
};

}  // namespace

TEST_CASE("remote write: a series has its labels in the order of their names, and milliseconds") {
  Writer writer;
  atalaya_sample &sample = writer.add({{"zone", "é"}, {"Host", "vm"}, {"a.b", "\"\n"}}, 10);
  writer.maker.field(sample, "proc.cpu.user", 1.5);
  writer.maker.count(sample, "proc.threads", -3);
  CHECK(writer.write() == Lines{"Host=vm,__name__=proc_cpu_user,a_b=\"\n,zone=é 1.5 @10000",
                                "Host=vm,__name__=proc_threads,a_b=\"\n,zone=é -3 @10000"});
}

TEST_CASE("remote write: a counter has the suffix _total, and metadata") {
  Writer writer;
  writer.declared.add("net.bytes", ATALAYA_TOTAL, "By", "Bytes.");
  writer.maker.count(writer.add({}, 10), "net.bytes", 7);
  CHECK(writer.write() == Lines{"__name__=net_bytes_total 7 @10000"});
  const std::string declarations(writer.encoder->declarations());
  protozero::pbf_reader request(declarations);
  REQUIRE(request.next(3));
  protozero::pbf_reader metadata = request.get_message();
  REQUIRE(metadata.next(1));
  CHECK(metadata.get_enum() == 1);
  REQUIRE(metadata.next(2));
  CHECK(text_of(metadata) == "net_bytes_total");
  REQUIRE(metadata.next(4));
  CHECK(text_of(metadata) == "Bytes, in B; Atalaya's metric net.bytes");
  REQUIRE(metadata.next(5));
  CHECK(text_of(metadata) == "bytes");
}

TEST_CASE("remote write: the bytes of a request") {
  Writer writer;
  writer.maker.field(writer.add({{"h", "v"}}, 1), "m", 1);
  writer.write();
  CHECK(writer.body == std::string("\x0a\x25"
                                   "\x0a\x0d\x0a\x08__name__\x12\x01m"
                                   "\x0a\x06\x0a\x01h\x12\x01v"
                                   "\x12\x0c\x09\0\0\0\0\0\0\xf0\x3f\x10\xe8\x07",
                                   39));
}

TEST_CASE("remote write: of two metrics with one exposed name, the second is refused and the rest of its sample arrives") {
  Writer writer;
  writer.maker.field(writer.add({{"host", "a"}}, 10), "v.x", 1);
  CHECK(writer.write() == Lines{"__name__=v_x,host=a 1 @10000"});
  CHECK(writer.refusal.empty());
  atalaya_sample &second = writer.add({{"host", "a"}}, 15);
  writer.maker.field(second, "v_x", 100);
  writer.maker.field(second, "v.y", 2);
  CHECK(writer.write() == Lines{"__name__=v_y,host=a 2 @15000"});
  CHECK(writer.refusal == kCollision);
  writer.maker.field(writer.add({{"host", "b"}}, 15), "v_x", 100);
  CHECK(writer.write().empty());
}

TEST_CASE("remote write: the encoders of a sink share the exposed names") {
  const RemoteWriteOptions options;
  Writer one(options), two(options);
  one.maker.field(one.add({}, 10), "v.x", 1);
  two.maker.field(two.add({}, 10), "v_x", 1);
  CHECK(one.write().size() == 1);
  CHECK(two.write().empty());
  CHECK(two.refusal == kCollision);
  CHECK(bool(options.names->collisions() == prometheus::ExposedNames::Collisions{{"v_x", "v.x"}}));
}

TEST_CASE("remote write: two tags of one label name refuse the sample") {
  Writer writer;
  writer.maker.field(writer.add({{"a.b", "1"}, {"a_b", "2"}}, 10), "m", 1);
  CHECK(writer.write().empty());
  CHECK(writer.refusal == "two tags have the same label name");
}

TEST_CASE("remote write: a series that is missing in two windows ends with a staleness marker") {
  Writer writer;
  for (int64_t end = 10; end <= 20; end += 5) {
    writer.maker.field(writer.add({{"pid", "1"}}, end), "proc.a", 1);
    if (end == 10) writer.maker.field(writer.add({{"pid", "2"}}, end), "proc.a", 1);
    const Lines lines = writer.write();
    CHECK((lines.back() == "__name__=proc_a,pid=2 stale @15000") == (end == 20));
  }
}

TEST_CASE("remote write: random samples arrive value by value") {
  for (uint32_t seed = 0; seed < test::rounds(2000); ++seed) {
    Random random(seed);
    Writer writer;
    const std::string value = random.text("ab\"\\ \n=", 6);
    atalaya_sample &sample = writer.add({{"k", value}}, static_cast<int64_t>(random.between(1, 1000)));
    Lines expected;
    for (uint64_t i = random.between(1, 5); i > 0; --i) {
      const double number = std::ldexp(static_cast<double>(random.below(1U << 30)), static_cast<int>(random.below(60)) - 40);
      writer.maker.field(sample, "m.f" + std::to_string(i), number);
      expected.push_back("__name__=m_f" + std::to_string(i) + ",k=" + value + " " + real_text(number) + " @" +
                         std::to_string(sample.time_ns / 1'000'000));
    }
    REQUIRE(writer.write() == expected);
  }
}

}  // namespace atalaya::protocols::testing
