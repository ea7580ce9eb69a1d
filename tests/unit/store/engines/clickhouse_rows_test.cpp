// SPDX-License-Identifier: Apache-2.0
// Samples as rows, read back.
#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "plugins/shared/store/clickhouse/rows.h"
#include "plugins/shared/store/clickhouse/wire/row_binary.h"
#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::clickhouse {
namespace {

using test::kDay;
using test::kNow;
using test::kSecond;
using test::Samples;

struct Fixture {
  core::Symbols symbols;
  Samples samples{symbols};
  Rows rows{[this](uint32_t id) { return symbols.name(id); }};
  Refused refused;
  bool add(uint64_t version = 1) {
    bool fits = true;
    for (size_t i = 0; i < samples.span().size(); ++i) fits = *rows.add(samples.span()[i], i, version, refused) == 0 && fits;
    return fits;
  }
};

std::vector<Cell> first(const TableRows &table, std::span<const Type> types) {
  std::string_view bytes = std::string_view(table.bytes).substr(0, table.places.at(0).end);
  bytes.remove_prefix(2);  // the day
  std::vector<Cell> row;
  CHECK(parse_row(bytes, types, row) == Parsed::row);
  CHECK(bytes.empty());
  return row;
}

TEST_CASE("clickhouse: a number is a row of points, and its series is announced once a day") {
  Fixture f;
  f.samples.metrics(kNow, {{"host", "a"}, {"pid", "7"}}).real("m", 0.5).count("n", int64_t{1} << 60);
  f.samples.metrics(kNow + kSecond, {{"pid", "7"}, {"host", "a"}}).real("m", 1);
  f.samples.metrics(kNow + kDay, {{"host", "a"}, {"pid", "7"}}).real("m", 2);
  CHECK(f.add(9));
  CHECK(f.rows.points.places.size() == 4);
  CHECK(f.rows.series.places.size() == 3);
  CHECK(f.rows.days() == 2);
  constexpr std::array kPoint = {Type::text, Type::u64, Type::i64, Type::i64, Type::f64, Type::i64, Type::u8, Type::u64};
  const auto point = first(f.rows.points, kPoint);
  CHECK(point[0].text == "m");
  CHECK(point[1].bits == entity_of({{"host", "a"}, {"pid", "7"}}));
  CHECK(point[2].integer() == kNow);
  CHECK(point[3].integer() == kSecond);
  CHECK(point[4].real() == 0.5);
  CHECK(point[6].bits == 0);
  CHECK(point[7].bits == 9);
  f.rows.mark_series_written();
  f.rows.clear();
  CHECK(f.add());
  CHECK(f.rows.series.places.size() <= 2);  // the days alternate
  f.rows.clear();
  f.rows.forget();
  CHECK(f.add());
  CHECK(f.rows.series.places.size() == 3);
}

TEST_CASE("clickhouse: the number of an entity is for ever") {
  CHECK(entity_of({{"host", "a"}, {"pid", "7"}}) == 0x4b1f29f11d6a4291u);
  CHECK(entity_of({{"a", "bc"}}) != entity_of({{"ab", "c"}}));
}

TEST_CASE("clickhouse: stacks and spans carry their tags and fields") {
  Fixture f;
  f.samples.add(ATALAYA_STACK, kNow, kSecond, {{"process", "java"}}, "a;b").count("profile.samples", 3);
  f.samples.add(ATALAYA_SPAN, kNow, -1, {{"job", "1"}}, "map").real("share", 0.5).count("n", 2);
  CHECK(f.add());
  constexpr std::array kStack = {Type::u64,  Type::u64,   Type::i64,  Type::i64,  Type::texts, Type::texts,
                                 Type::text, Type::texts, Type::f64s, Type::i64s, Type::u8s,   Type::u64};
  const auto stack = first(f.rows.stacks, kStack);
  CHECK(stack[1].bits == number_of("a;b"));
  CHECK(stack[5].texts == std::vector<std::string_view>{"java"});
  CHECK(stack[6].text == "a;b");
  CHECK(stack[9].numbers == std::vector<uint64_t>{3});
  constexpr std::array kSpan = {Type::i64,   Type::u64,  Type::text, Type::i64, Type::texts, Type::texts,
                                Type::texts, Type::f64s, Type::i64s, Type::u8s, Type::u64};
  const auto span = first(f.rows.spans, kSpan);
  CHECK(span[2].text == "map");
  CHECK(span[3].integer() == -1);
  CHECK(Cell::real_of(span[7].numbers.at(0)) == 0.5);
  CHECK(span[9].numbers == std::vector<uint64_t>{0, 1});
  CHECK(f.rows.series.places.size() == 2);
}

TEST_CASE("clickhouse: samples that cannot be stored are counted, and a time without a partition is reported") {
  Fixture f;
  f.samples.metrics(kNow, {}).real("m", std::numeric_limits<double>::quiet_NaN());
  f.samples.metrics(kNow, {}).real("m", std::numeric_limits<double>::infinity()).real("n", 1);
  f.samples.add(ATALAYA_STACK, kNow, kSecond, {}, "");
  CHECK(f.add());
  CHECK(f.refused.samples == 2);
  CHECK(f.refused.values == 2);
  CHECK(f.rows.points.places.size() == 1);
  Fixture late;
  late.samples.metrics(-1, {}).real("m", 1);
  CHECK_FALSE(late.add());
  CHECK(late.rows.count() == 0);
}

TEST_CASE("clickhouse: a row that is too long to be read again is not written") {
  Fixture f;
  f.samples.add(ATALAYA_STACK, kNow, kSecond, {}, std::string((size_t{4} << 20) + 1, 'x'));
  CHECK_FALSE(f.add());
  CHECK(f.rows.count() == 0);
  Fixture longest;  // each byte that is no UTF-8 becomes three
  longest.samples.add(ATALAYA_STACK, kNow, kSecond, {}, std::string(size_t{4} << 20, '\xff')).count("n", 1);
  longest.samples.metrics(kNow, {{"tag", std::string(size_t{5} << 20, 'x')}}).real("m", 1);
  CHECK_FALSE(longest.add());
  CHECK(longest.rows.points.places.empty());
  constexpr std::array kStack = {Type::u64,  Type::u64,   Type::i64,  Type::i64,  Type::texts, Type::texts,
                                 Type::text, Type::texts, Type::f64s, Type::i64s, Type::u8s,   Type::u64};
  CHECK(first(longest.rows.stacks, kStack)[6].text.size() == size_t{12} << 20);
}

}  // namespace
}  // namespace atalaya::store::clickhouse
