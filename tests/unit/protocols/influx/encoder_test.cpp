// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/influx/influx_encoder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/core/sample/sample_maker.h"
#include "tests/unit/protocols/influx/influx_text.h"
#include "tests/unit/protocols/random.h"
#include "tests/unit/rounds.h"

namespace atalaya::protocols::testing {

using core::testing::Maker;

TEST_CASE("influx: the fields of a family are one line") {
  Maker maker;
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, {{"host", "vm"}, {"process", "java"}});
  maker.field(sample, "proc.cpu.user", 99.5);
  maker.count(sample, "proc.threads", 31);
  maker.field(sample, "load", 2);
  std::string out;
  CHECK(make_influx(maker.name_of())->append(sample, out) == "");
  CHECK(out ==
        "proc,host=vm,process=java cpu.user=99.5,threads=31i 1795219532123456789\n"
        "load,host=vm,process=java value=2 1795219532123456789\n");
}

TEST_CASE("influx: a measurement has no escape for '='") {
  Maker maker;
  atalaya_sample &sample = maker.add(ATALAYA_METRICS, {{"a=b", "c=d"}});
  maker.field(sample, "x=y, z.f=g", 1);
  std::string out;
  make_influx(maker.name_of())->append(sample, out);
  CHECK(out == "x=y\\,\\ z,a\\=b=c\\=d f\\=g=1 1795219532123456789\n");
}

TEST_CASE("influx: the reader reads what the writer wrote") {
  constexpr std::string_view kCharacters = "abz0_-/\"'#,= ";
  for (uint32_t seed = 0; seed < test::rounds(2000); ++seed) {
    Random random(seed);
    Maker maker;
    std::vector<std::pair<std::string, std::string>> tags;
    for (uint64_t i = random.below(4); i > 0; --i)
      tags.emplace_back("k" + random.text(kCharacters, 5), random.text(kCharacters, 8));
    Maker::Tags views(tags.begin(), tags.end());
    atalaya_sample &sample = maker.add(ATALAYA_METRICS, views);
    sample.time_ns = static_cast<int64_t>(random.between(1, 1ULL << 60));
    std::string texts;
    for (const auto &[key, value] : tags) texts += (texts.empty() ? "" : ",") + key + "=" + value;
    Lines expected;
    for (uint64_t i = random.between(1, 5); i > 0; --i) {
      const std::string name =
          "m" + random.text(kCharacters, 4) + (random.one_of(3) ? "" : "." + random.text(kCharacters, 5) + std::to_string(i));
      RecordField field;
      if (random.one_of(2)) {
        field.type = ATALAYA_I64;
        field.i64 = static_cast<int64_t>(random.below(UINT64_MAX));
        maker.count(sample, name, field.i64);
      } else {
        field.f64 = std::ldexp(static_cast<double>(random.below(1U << 30)), static_cast<int>(random.below(60)) - 40);
        maker.field(sample, name, field.f64);
      }
      expected.push_back(name + "{" + texts + "} " + number_text(field) + " @" + std::to_string(sample.time_ns));
    }
    std::string out;
    REQUIRE(make_influx(maker.name_of())->append(sample, out) == "");
    InfluxResult result = read_influx(out);
    std::sort(result.lines.begin(), result.lines.end());
    std::sort(expected.begin(), expected.end());
    CAPTURE(out);
    REQUIRE(result.lines == expected);
  }
}

}  // namespace atalaya::protocols::testing
