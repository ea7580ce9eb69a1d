// SPDX-License-Identifier: Apache-2.0
#include "core/base/encode/flat.h"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <random>

#include "core/base/encode/crc32c.h"
#include "plugins/shared/protocols/formats/encoder.h"
#include "tests/unit/core/sample/sample_maker.h"

using namespace atalaya;
using namespace atalaya::core;
using atalaya::core::testing::Maker;

namespace {

std::string lossless(const atalaya_batch &batch, const Symbols &symbols) {
  const auto encoder = protocols::make_encoder(protocols::Format::samples, [&](uint32_t id) { return symbols.name(id); });
  std::string text;
  for (uint64_t i = 0; i < batch.count; ++i) encoder->append(batch.samples[i], text);
  return text;
}

std::string record_of(Maker &maker) {
  std::string record;
  REQUIRE(encode_flat(maker.batch.raw(), maker.symbols, record).ok());
  return record;
}

// The names are interned in another order than the writer's, so that a reader that keeps the writer's ids fails.
struct Reader {
  Symbols symbols;
  Batch batch;
  Reader() {
    symbols.intern("something else");
    symbols.intern("proc.threads");
  }
  Result<Decoded> read(std::string_view bytes) { return decode_flat(bytes, symbols, batch); }
  std::string text() const { return lossless(batch.raw(), symbols); }
};

void fill_example(Maker &maker) {
  atalaya_sample &process = maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"pid", "8860"}, {"process", ""}});
  maker.field(process, "proc.cpu.user", 99.4);
  maker.count(process, "proc.threads", std::numeric_limits<int64_t>::min());
  maker.add(ATALAYA_SPAN, {}, "map").duration_ns = -1;
}

template <class T>
void overwrite(std::string &record, size_t offset, T value) {
  std::memcpy(record.data() + offset, &value, sizeof(value));
  seal_flat(record.data(), record.size());
}

std::string error_of(const std::string &record) {
  Reader reader;
  const auto result = reader.read(record);
  if (result.ok()) return "none";
  CHECK(reader.batch.count() == 0);
  return result.error();
}

}  // namespace

TEST_CASE("CRC-32C has its published check value at every alignment and length") {
  CHECK(crc32c("123456789") == 0xe3069283u);
  CHECK(crc32c("") == 0);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aau);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43u);
  CHECK(crc32c(std::string_view("x123456789").substr(1)) == 0xe3069283u);
}

TEST_CASE("a record reads back as it was, and records may follow one another") {
  Maker maker;
  fill_example(maker);
  const std::string text = lossless(maker.batch.raw(), maker.symbols);
  std::string records = record_of(maker);
  const size_t size = records.size();
  CHECK(size % 8 == 0);
  records += record_of(maker);

  Reader reader;
  auto first = reader.read(records);
  REQUIRE(first.ok());
  CHECK(first->size == size);
  CHECK(first->samples == 2);
  CHECK(reader.text() == text);
  auto second = reader.read(std::string_view(records).substr(first->size));
  REQUIRE(second.ok());
  CHECK(reader.text() == text + text);
}

TEST_CASE("an empty batch is a record too") {
  Maker maker;
  Reader reader;
  const auto result = reader.read(record_of(maker));
  REQUIRE(result.ok());
  CHECK(result.value().size == kFlatHeaderSize);
  CHECK(result.value().samples == 0);
}

TEST_CASE("random batches read back bit for bit, at any alignment") {
  std::mt19937_64 random(7);
  static constexpr double kValues[] = {
      0.0, -0.0, 5e-324, -1.5, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::max()};
  for (int round = 0; round < 200; ++round) {
    Maker maker;
    for (uint64_t n = random() % 20; n > 0; --n) {
      atalaya_sample &sample = maker.add(static_cast<uint32_t>(random() % 3), {}, std::string(random() % 9, 's'));
      sample.time_ns = static_cast<int64_t>(random());
      sample.duration_ns = static_cast<int64_t>(random());
      for (uint64_t t = random() % 6; t > 0; --t) {
        std::string value(random() % 5, ' ');
        for (char &byte : value) byte = static_cast<char>(random());
        maker.batch.add_tag(sample, maker.symbols.intern("tag" + std::to_string(random() % 9)), value);
      }
      for (uint64_t f = random() % 6; f > 0; --f) maker.field(sample, "f" + std::to_string(random() % 9), kValues[random() % 6]);
      maker.count(sample, "n", static_cast<int64_t>(random()));
    }
    const std::string record = record_of(maker);
    for (const size_t shift : {size_t{0}, size_t{3}}) {
      const std::string moved = std::string(shift, 'x') + record;
      Reader reader;
      REQUIRE(reader.read(std::string_view(moved).substr(shift)).ok());
      REQUIRE(reader.text() == lossless(maker.batch.raw(), maker.symbols));
      std::string copy;  // the writer returns the same bytes for the batch that was read
      REQUIRE(encode_flat(reader.batch.raw(), reader.symbols, copy).ok());
      REQUIRE(copy == record);
    }
  }
}

TEST_CASE("the bits of a NaN and the id 0 survive") {
  Maker maker;
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, {});
  atalaya_field odd{0, ATALAYA_F64, {}};
  odd.value.i64 = 0x7ff8000000001234;
  maker.batch.add_field(sample, odd);
  Reader reader;
  REQUIRE(reader.read(record_of(maker)).ok());
  const atalaya_field &read = reader.batch.raw().samples[0].fields[0];
  CHECK(read.value.i64 == 0x7ff8000000001234);
  CHECK(read.name == 0);
}

TEST_CASE("a batch that was read can be edited like any other") {
  Maker maker;
  fill_example(maker);
  Reader reader;
  REQUIRE(reader.read(record_of(maker)).ok());
  atalaya_sample &sample = reader.batch.raw().samples[0];
  reader.batch.add_tag(sample, reader.symbols.intern("team"), "data");
  CHECK(sample.tag_count == 4);
  CHECK(view_of(sample.tags[1].value) == "8860");
  CHECK(view_of(sample.tags[3].value) == "data");
}

TEST_CASE("too many tags are refused by the writer, and the output stays as it was") {
  Maker maker;
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, {});
  const uint32_t key = maker.symbols.intern("k");
  maker.batch.reserve(sample, 65535, 0);
  for (int i = 0; i < 65534; ++i) maker.batch.add_tag(sample, key, "");
  Reader reader;
  CHECK(reader.read(record_of(maker)).ok());

  maker.batch.add_tag(sample, key, "");
  std::string out = "before";
  const Status status = encode_flat(maker.batch.raw(), maker.symbols, out);
  REQUIRE(!status.ok());
  CHECK(status.error() == "a sample with 65535 tags and 0 fields; at most 65534 and 65535 can be stored");
  CHECK(out == "before");
}

TEST_CASE("kinds and types that do not exist are refused by the writer") {
  Maker maker;
  std::string out;
  maker.add(3, {});
  CHECK(encode_flat(maker.batch.raw(), maker.symbols, out).error() == "a sample of the unknown kind 3");
  maker.batch.clear();
  maker.batch.add_field(maker.add(ATALAYA_METRICS, {}), {1, 9, {}});
  CHECK(encode_flat(maker.batch.raw(), maker.symbols, out).error() == "a field of the unknown type 9");
}

TEST_CASE("every beginning of a record is truncated, not corrupt") {
  Maker maker;
  fill_example(maker);
  const std::string record = record_of(maker);
  for (size_t size = 0; size < record.size(); ++size) {
    Reader reader;
    const auto result = reader.read(std::string_view(record).substr(0, size));
    REQUIRE(result.ok());
    CHECK(result.value().truncated());
    CHECK(reader.batch.count() == 0);
  }
}

TEST_CASE("every flipped bit is seen") {
  Maker maker;
  fill_example(maker);
  const std::string record = record_of(maker);
  for (size_t bit = 0; bit < record.size() * 8; ++bit) {
    std::string flipped = record;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    Reader reader;
    const auto result = reader.read(flipped);
    REQUIRE_MESSAGE(!result.ok(), "bit " << bit);
    CHECK(result.error().starts_with("corrupt record: "));
    CHECK(reader.batch.count() == 0);
  }
}

TEST_CASE("a record that is wrong inside is refused although its checksums are right") {
  Maker maker;
  fill_example(maker);  // 5 names, 2 samples, 3 tags, 2 fields
  const std::string good = record_of(maker);
  constexpr size_t kNames = kFlatHeaderSize;
  constexpr size_t kSamples = kNames + 24;
  constexpr size_t kTags = kSamples + size_t{2} * 32;
  constexpr size_t kFields = kTags + size_t{3} * 8;
  const auto changed = [&](size_t offset, auto value) {
    std::string record = good;
    overwrite(record, offset, value);
    return error_of(record);
  };
  REQUIRE(changed(4, uint16_t{2}) == "none");
  CHECK(changed(4, uint16_t{3}) == "a record of format 3.1, this version reads 2.1; use the version of Atalaya that wrote it");
  CHECK(changed(8, uint64_t{1} << 60) == "corrupt record: its counts do not add up to its size");
  CHECK(changed(16, uint64_t{7}) == "corrupt record: its counts do not add up to its size");
  CHECK(changed(16, std::numeric_limits<uint64_t>::max() / 4 + 2) == "corrupt record: its counts do not add up to its size");
  CHECK(changed(48, std::numeric_limits<uint64_t>::max() - 8) == "corrupt record: its counts do not add up to its size");
  CHECK(changed(kNames, uint32_t{4097}) == "corrupt record: a name is too long");
  CHECK(changed(kNames, uint32_t{5}) == "corrupt record: its strings are not as long as it says");
  CHECK(changed(kNames + 20, uint32_t{1}) == "corrupt record: a gap is not zero");
  CHECK(changed(kSamples, uint32_t{3}) == "corrupt record: a sample's kind is unknown");
  CHECK(changed(kSamples + 4, uint32_t{65535}) == "corrupt record: a sample has too many tags or fields");
  CHECK(changed(kSamples + 4, uint32_t{2}) == "corrupt record: its samples do not have as many tags and fields as it says");
  CHECK(changed(kSamples + 12, uint32_t{0xffffffff}) == "corrupt record: its strings are not as long as it says");
  CHECK(changed(kTags, uint32_t{5}) == "corrupt record: a tag's name is not in its table");
  CHECK(changed(kTags + 4, uint32_t{1}) == "corrupt record: its strings are not as long as it says");
  CHECK(changed(kFields, uint32_t{5}) == "corrupt record: a field's name is not in its table");
  CHECK(changed(kFields + 4, uint32_t{2}) == "corrupt record: a field's type is unknown");

  std::string longer = good + std::string(8, '\0');
  const uint64_t size = longer.size();
  overwrite(longer, 8, size);
  CHECK(error_of(longer) == "corrupt record: its counts do not add up to its size");
  CHECK(error_of("not a record") == "corrupt record: it does not begin with ATLB");
}

namespace {

atalaya_metric_info info(uint32_t kind, int32_t decimals, std::string_view unit, std::string_view summary,
                         std::string_view source) {
  return {sizeof(atalaya_metric_info),   kind, decimals, 0, {unit.data(), unit.size()}, {summary.data(), summary.size()},
          {source.data(), source.size()}};
}

void declare_example(Maker &maker) {
  maker.symbols.declare("proc.cpu.user", info(ATALAYA_RATE, 2, "%", "User time.", "/proc/PID/stat"), "a test");
  maker.symbols.declare("proc.threads", info(ATALAYA_GAUGE, -1, "{thread}", "Threads.", ""), "a test");
  maker.symbols.declare("not.used", info(ATALAYA_GAUGE, -1, "1", "Not used.", ""), "a test");
}

}  // namespace

TEST_CASE("a record declares its metrics where it is read") {
  Maker maker;
  declare_example(maker);
  fill_example(maker);
  Reader reader;
  REQUIRE(reader.read(record_of(maker)).ok());
  const atalaya_metric_info *user = reader.symbols.metric(reader.symbols.intern("proc.cpu.user"));
  REQUIRE(user != nullptr);
  CHECK(user->kind == ATALAYA_RATE);
  CHECK(user->decimals == 2);
  CHECK(view_of(user->unit) == "%");
  CHECK(view_of(user->summary) == "User time.");
  CHECK(view_of(user->source) == "/proc/PID/stat");
  CHECK(reader.symbols.metric(reader.symbols.intern("proc.threads")) != nullptr);
  CHECK(reader.symbols.catalogue().size() == 2);
  CHECK(reader.text() == lossless(maker.batch.raw(), maker.symbols));

  Maker other;
  other.symbols.declare("proc.cpu.user", info(ATALAYA_GAUGE, 2, "%", "", ""), "a test");
  fill_example(other);
  REQUIRE(reader.read(record_of(other)).ok());
  CHECK(user->kind == ATALAYA_RATE);  // the first one holds
  CHECK(reader.symbols.catalogue().conflicts() == 1);
}

TEST_CASE("a stream sends each declaration once, and every record of it reads alone") {
  Maker maker;
  fill_example(maker);
  FlatEncoder encoder;
  std::string undeclared;
  REQUIRE(encoder.append(maker.batch.raw(), maker.symbols, undeclared).ok());
  declare_example(maker);
  std::string first;
  REQUIRE(encoder.append(maker.batch.raw(), maker.symbols, first).ok());
  CHECK(encoder.complete());
  std::string second;
  REQUIRE(encoder.append(maker.batch.raw(), maker.symbols, second).ok());
  CHECK(!encoder.complete());
  CHECK(second == undeclared);
  CHECK(first.size() > second.size());
  encoder.start_stream();
  std::string again;
  REQUIRE(encoder.append(maker.batch.raw(), maker.symbols, again).ok());
  CHECK(again == first);

  Reader reader;
  REQUIRE(reader.read(second).ok());
  CHECK(reader.symbols.catalogue().size() == 0);
  CHECK(declare_flat(first, reader.symbols));
  CHECK(reader.symbols.catalogue().size() == 2);
}

TEST_CASE("metrics of a record that are wrong inside are refused") {
  Maker maker;
  declare_example(maker);
  fill_example(maker);  // 5 names, 2 metrics
  const std::string good = record_of(maker);
  constexpr size_t kMetrics = kFlatHeaderSize + 24;
  const auto changed = [&](size_t offset, auto value) {
    std::string record = good;
    overwrite(record, offset, value);
    return error_of(record);
  };
  REQUIRE(changed(kMetrics + 4, uint32_t{ATALAYA_TOTAL}) == "none");
  CHECK(changed(56, uint64_t{1} << 60) == "corrupt record: its counts do not add up to its size");
  CHECK(changed(kMetrics, uint32_t{5}) == "corrupt record: a metric's name is not in its table");
  CHECK(changed(kMetrics, uint32_t{4}) == "corrupt record: its metrics are not in order");
  CHECK(changed(kMetrics + 4, uint32_t{0}) == "corrupt record: a metric's kind is unknown");
  CHECK(changed(kMetrics + 4, uint32_t{5}) == "corrupt record: a metric's kind is unknown");
  CHECK(changed(kMetrics + 8, int32_t{10}) == "corrupt record: a metric has decimals outside of -1 to 9");
  CHECK(changed(kMetrics + 16, uint32_t{513}) == "corrupt record: a metric's text is too long");
  CHECK(changed(kMetrics + 16, uint32_t{9}) == "corrupt record: its strings are not as long as it says");
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    REQUIRE_MESSAGE(error_of(flipped).starts_with("corrupt record: "), "bit " << bit);
  }
}

TEST_CASE("a record reads as samples without a batch") {
  Maker maker;
  declare_example(maker);
  fill_example(maker);
  const std::string bytes = record_of(maker);
  auto record = FlatRecord::read(bytes);
  REQUIRE(record.ok());
  CHECK(record->size() == bytes.size());
  CHECK(record->names().size() == 5);
  REQUIRE(record->metrics().size() == 2);
  CHECK(record->names()[record->metrics()[1].name] == "proc.threads");
  std::string seen;
  record->for_each_sample([&](const FlatRecord::Sample &sample) {
    seen += std::to_string(sample.kind) + " " + std::string(sample.text) + " " + std::to_string(sample.duration_ns);
    for (const auto &tag : sample.tags) seen += " " + std::string(record->names()[tag.name]) + "=" + std::string(tag.value);
    for (const auto &field : sample.fields) seen += " " + std::string(record->names()[field.name]);
    seen += "\n";
  });
  CHECK(seen == "0  5000000000 host=vm pid=8860 process= proc.cpu.user proc.threads\n2 map -1\n");
  CHECK(FlatRecord::read(bytes.substr(0, 100)).value().size() == 0);
  CHECK(!FlatRecord::read("no record").ok());
}
