// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/sqlite/chunks/chunk_encoder.h"
#include "plugins/shared/store/sqlite/chunks/chunk_reader.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace atalaya::store::test {
namespace {

template <class Make>
std::vector<Number> numbers(int size, Make &&make) {
  std::vector<Number> values(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) values[static_cast<size_t>(i)] = make(i);
  return values;
}

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1'700'000'000 * kSecond;

Number real(double value) {
  Number number;
  number.real = value;
  return number;
}
Number count(int64_t value) {
  Number number;
  number.is_count = true;
  number.count = value;
  return number;
}

Column column(int64_t metric, const std::vector<Number> &values, int64_t step_ns = kSecond) {
  Column result;
  result.metric = metric;
  for (size_t i = 0; i < values.size(); ++i) result.add(kNow + static_cast<int64_t>(i) * step_ns, step_ns, values[i]);
  return result;
}

Chunk encoded(const std::vector<Column> &columns, Effort effort = Effort::full) {
  Chunk chunk;
  ChunkEncoder().encode(columns, chunk, effort);
  return chunk;
}

std::vector<std::pair<bool, uint64_t>> bits(const std::vector<Number> &values) {
  std::vector<std::pair<bool, uint64_t>> result;
  result.reserve(values.size());
  for (const Number &value : values)
    result.emplace_back(value.is_count, value.is_count ? static_cast<uint64_t>(value.count) : std::bit_cast<uint64_t>(value.real));
  return result;
}

// All columns; throws where the chunk is damaged.
std::vector<Column> decoded(const Chunk &chunk) {
  ChunkReader reader;
  if (!reader.open(chunk.head)) throw std::runtime_error("head");
  reader.set_data(chunk.data);
  std::vector<Column> columns;
  for (const Part &part : reader.parts()) {
    Values values;
    const Times *times = reader.times(part);
    if (times == nullptr || !reader.values(part, values)) throw std::runtime_error("data");
    Column &column = columns.emplace_back();
    column.metric = part.metric;
    column.times_ns = times->times_ns;
    column.durations_ns = times->durations_ns;
    for (size_t i = 0; i < column.size(); ++i) column.values.push_back(values.at(i));
  }
  return columns;
}

void check_same(const std::vector<Column> &columns) {
  for (const Effort effort : {Effort::full, Effort::quick, Effort::plain}) {
    const auto back = decoded(encoded(columns, effort));
    REQUIRE(back.size() == columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      CHECK(back[i].metric == columns[i].metric);
      CHECK(back[i].times_ns == columns[i].times_ns);
      CHECK(back[i].durations_ns == columns[i].durations_ns);
      CHECK(bits(back[i].values) == bits(columns[i].values));
    }
  }
}

TEST_CASE("values of all kinds come back bit by bit") {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  const std::vector<std::vector<Number>> cases = {
      {real(0.1)},
      {real(0.1), real(0.1), real(0.1)},
      {real(0.1), real(0.25), real(133.15), real(100), real(0), real(99.99)},
      {real(-0.0), real(0.0), real(-0.0)},
      {real(1.0 / 3), real(2.0 / 3), real(1e300), real(5e-324), real(-1e-9)},
      {real(1e15), real(0.000001), real(3)},
      {real(9007199254740993.0), real(0.5), real(1)},
      {count(0)},
      {count(1), count(2), count(3), count(1000), count(-7)},
      {count(kLeast), count(kMost), count(0), count(-1), count(kMost), count(kLeast)},
      {count(1'795'253'741'240'000'000), count(1'795'253'741'240'000'001)},
      {count(1), real(1), real(0.5), count(kMost), count(2)},
      {real(1e9 + 0.123456789), real(2)},
  };
  for (const auto &values : cases) check_same({column(7, values)});
  std::vector<Column> all;
  for (size_t i = 0; i < cases.size(); ++i)
    all.push_back(column(static_cast<int64_t>(i * 300), cases[i], kSecond * static_cast<int64_t>(i + 1)));
  check_same(all);
}

TEST_CASE("random series come back: gaps, several lengths of window, walks and noise") {
  std::mt19937_64 random(4711);
  for (int round = 0; round < 200; ++round) {
    std::vector<Column> columns;
    for (int64_t metric = 1; metric < 6; ++metric) {
      Column one;
      one.metric = metric;
      int64_t time_ns = kNow - static_cast<int64_t>(random() % 1000) * kSecond;
      double value = 0;
      const size_t size = 1 + random() % 300;
      const auto decimals = static_cast<int>(random() % 5);
      for (size_t i = 0; i < size; ++i) {
        time_ns += kSecond * static_cast<int64_t>(random() % 10 == 0 ? 1 + random() % 5 : 1) + (metric == 5 ? random() % 1000 : 0);
        value += static_cast<double>(static_cast<int64_t>(random() % 2001) - 1000);
        const double scaled = std::round(value) / std::pow(10, decimals);
        one.add(time_ns, random() % 7 == 0 ? 5 * kSecond : kSecond,
                metric == 2   ? count(static_cast<int64_t>(random()))
                : metric == 3 ? real(std::sqrt(std::abs(value)))
                              : real(scaled));
      }
      columns.push_back(std::move(one));
    }
    check_same(columns);
  }
}

TEST_CASE("times at the limits of 64 bits come back") {
  Column one;
  one.metric = 1;
  one.add(std::numeric_limits<int64_t>::min() / 2, -1, count(1));
  one.add(-1, 0, count(2));
  one.add(std::numeric_limits<int64_t>::max() / 2, std::numeric_limits<int64_t>::max(), count(3));
  check_same({one});
}

TEST_CASE("summaries equal the points") {
  const std::vector<Number> values = numbers(600, [](int i) { return real(std::round(1000 * std::sin(i)) / 100); });
  const std::vector<Number> counts = numbers(600, [](int i) { return count(1'000'000 + i * i); });
  const std::vector<Number> wild = numbers(600, [](int i) { return real(std::exp(std::sin(i))); });
  const Chunk chunk =
      encoded({column(1, values), column(2, counts), column(3, wild), column(4, std::vector<Number>(600, real(0.3)))});
  ChunkReader reader;
  REQUIRE(reader.open(chunk.head));
  const std::vector<std::vector<Number>> all = {values, counts, wild, std::vector<Number>(600, real(0.3))};
  for (size_t i = 0; i < all.size(); ++i) {
    const Summary &summary = reader.parts()[i].summary;
    REQUIRE(reader.parts()[i].has_summary);
    double sum = 0, minimum = 1e300, maximum = -1e300;
    for (const Number &value : all[i]) {
      sum += value.as_real();
      minimum = std::min(minimum, value.as_real());
      maximum = std::max(maximum, value.as_real());
    }
    CHECK(summary.count == 600);
    CHECK(summary.first_ns == kNow);
    CHECK(summary.last_ns == kNow + 599 * kSecond);
    CHECK(summary.first == all[i].front().as_real());
    CHECK(summary.last == all[i].back().as_real());
    CHECK(summary.min == minimum);
    CHECK(summary.max == maximum);
    CHECK(summary.sum == doctest::Approx(sum).epsilon(1e-12));
  }
}

// Levels, noise on some of them, jumps, walks.
std::vector<Number> pieces(std::mt19937_64 &random, int size) {
  int64_t level = 0, range = 0, left = 0, value = 0;
  const bool is_walk = random() % 3 == 0;
  return numbers(size, [&](int) {
    if (left-- == 0) {
      left = static_cast<int64_t>(random() % 200);
      level = static_cast<int64_t>(random() >> (18 + random() % 46)) * (random() % 2 == 0 ? 1 : -1);
      range = random() % 3 == 0 ? 0 : static_cast<int64_t>(random() >> (20 + random() % 44));
    }
    const int64_t noise = range == 0 ? 0 : static_cast<int64_t>(random() % static_cast<uint64_t>(range));
    value = is_walk ? value + noise % 1000 : level + noise;
    return count(value);
  });
}

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

// Ten minutes of zeroes and a value, as stores of schema 6 have them.
TEST_CASE("a chunk of format 1 is read") {
  Chunk old;
  old.head = bytes_of("E92B0FB20101D80480A8FFDABCCCF5EA3180CCBAB9B7118094EBDC030A0001020090020000C449C449C449145F70382A");
  old.data = bytes_of("D70401D80480A8D6B90700087D0000280000C400240200534085A554000B");
  const auto columns = decoded(old);
  REQUIRE(columns.size() == 1);
  REQUIRE(columns[0].size() == 600);
  for (size_t i = 0; i < 600; ++i) {
    CHECK(columns[0].times_ns[i] == (1'795'506'001 + static_cast<int64_t>(i)) * kSecond);
    CHECK(columns[0].durations_ns[i] == kSecond);
    CHECK(columns[0].values[i].as_real() == (i < 599 ? 0 : 94.12));
  }
}

TEST_CASE("series with levels, jumps and walks come back") {
  std::mt19937_64 random(70);
  for (int round = 0; round < 200; ++round) {
    std::vector<Column> columns;
    for (int64_t metric = 1; metric < 4; ++metric)
      columns.push_back(column(metric, pieces(random, 1 + static_cast<int>(random() % 3000))));
    check_same(columns);
  }
}

TEST_CASE("the summaries of a long column's blocks equal the points of ten minutes") {
  std::mt19937_64 random(71);
  const std::vector<Number> counts = pieces(random, 5000);
  const std::vector<Number> wild = numbers(5000, [](int i) { return real(std::exp(std::sin(i))); });
  const Chunk chunk = encoded({column(1, counts), column(2, wild), column(3, std::vector<Number>(5000, real(2)))});
  ChunkReader reader;
  REQUIRE(reader.open(chunk.head));
  const std::vector<std::vector<Number>> all = {counts, wild};
  for (size_t i = 0; i < all.size(); ++i) {
    const auto blocks = reader.blocks(reader.parts()[i]);
    REQUIRE(blocks.size() >= 5000 / 600);
    size_t next = 0;
    for (const Block &block : blocks) {
      CHECK(block.begin == next);
      next = block.end;
      const Summary &summary = block.summary;
      CHECK(summary.count == static_cast<int64_t>(block.end - block.begin));
      CHECK(summary.first_ns == kNow + static_cast<int64_t>(block.begin) * kSecond);
      CHECK(summary.last_ns == kNow + static_cast<int64_t>(block.end - 1) * kSecond);
      CHECK((summary.first_ns - 1) / (600 * kSecond) == (summary.last_ns - 1) / (600 * kSecond));
      double sum = 0, minimum = 1e300, maximum = -1e300;
      for (size_t at = block.begin; at < block.end; ++at) {
        sum += all[i][at].as_real();
        minimum = std::min(minimum, all[i][at].as_real());
        maximum = std::max(maximum, all[i][at].as_real());
      }
      CHECK(summary.first == all[i][block.begin].as_real());
      CHECK(summary.last == all[i][block.end - 1].as_real());
      CHECK(summary.min == minimum);
      CHECK(summary.max == maximum);
      CHECK(summary.sum == doctest::Approx(sum).epsilon(1e-12));
    }
    CHECK(next == 5000);
  }
  CHECK(reader.blocks(reader.parts()[2]).empty());  // a steady value needs none
}

TEST_CASE("a wrong byte of a long chunk is noticed, wherever it is") {
  std::mt19937_64 random(72);
  const Chunk good = encoded({column(1, pieces(random, 2000))});
  REQUIRE(!good.data.empty());
  for (size_t i = 0; i < good.head.size() + good.data.size(); ++i) {
    Chunk bad = good;
    char &byte = i < good.head.size() ? bad.head[i] : bad.data[i - good.head.size()];
    byte = static_cast<char>(byte ^ 0x04);
    CHECK_THROWS(decoded(bad));
  }
}

TEST_CASE("series that share their times keep them once, and a steady one costs next to nothing") {
  const std::vector<Number> values = numbers(720, [](int i) { return real(i % 10 / 10.0); });
  const size_t one = encoded({column(1, values)}).data.size();
  std::vector<Column> many;
  for (int64_t metric = 1; metric <= 16; ++metric) many.push_back(column(metric, std::vector<Number>(720, real(12.5))));
  const Chunk chunk = encoded(many);
  CHECK(chunk.head.size() + chunk.data.size() < 150);
  CHECK(one < 720 / 2);
}

TEST_CASE("a byte that is wrong is noticed, wherever it is") {
  const std::vector<Number> values = numbers(400, [](int i) { return real(std::round(1000 * std::sin(i * i)) / 100); });
  const Chunk good = encoded({column(1, values), column(2, std::vector<Number>(400, count(5))), column(3, {count(1), real(2)})});
  for (size_t i = 0; i < good.head.size() + good.data.size(); ++i) {
    Chunk bad = good;
    char &byte = i < good.head.size() ? bad.head[i] : bad.data[i - good.head.size()];
    byte = static_cast<char>(byte ^ 0x10);
    CHECK_THROWS(decoded(bad));
  }
  for (const size_t size : {size_t{0}, size_t{1}, good.data.size() - 1}) {
    Chunk bad = good;
    bad.data.resize(size);
    CHECK_THROWS(decoded(bad));
  }
}

}  // namespace
}  // namespace atalaya::store::test
