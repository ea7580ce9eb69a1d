// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/command_line/render.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <ctime>

#include <cmath>
#include <limits>

#include "plugins/shared/analysis/command_line/output.h"
#include "tests/unit/store/query/memory_store.h"

namespace atalaya::query::test {
namespace {

using namespace command_line;

std::vector<Answer> answers() {
  Answer one{"proc.cpu.user", {{"host", "h"}, {"process", "a \"b\", c\n"}}, {"pid"}, {{1'700'000'000'000'000'000, 1.5}}};
  one.info = std::make_shared<const store::MetricInfo>(store::MetricInfo{store::Kind::gauge, 1, "%", "CPU time"});
  Answer other{"x", {}, {}, {{1'700'000'001'500'000'000, 2}, {1'700'000'002'000'000'000, std::nan("")}}};
  return {one, other};
}

TEST_CASE("JSON has milliseconds, and null for unknown values") {
  CHECK(
      as_json(answers()) ==
      R"([{"metric":"proc.cpu.user","kind":"gauge","unit":"%","summary":"CPU time","tags":{"host":"h","process":"a \"b\", c\n"},"aggregateTags":["pid"],"dps":[[1700000000000,1.5]]},
{"metric":"x","tags":{},"aggregateTags":[],"dps":[[1700000001500,2],[1700000002000,null]]}]
)");
  CHECK(as_json({}) == "[]\n");
}

TEST_CASE("CSV has a column per tag, and quotes cells that need it") {
  CHECK(as_csv(answers()) ==
        "time,metric,host,process,value,unit\r\n"
        "2023-11-14T22:13:20Z,proc.cpu.user,h,\"a \"\"b\"\", c\n\",1.5,%\r\n"
        "2023-11-14T22:13:21.5Z,x,,,2,\r\n"
        "2023-11-14T22:13:22Z,x,,,,\r\n");
}

TEST_CASE("a table has units, local times whose zone the header states once, and no control characters") {
  setenv("TZ", "<+01>-1", 1);
  tzset();
  CHECK(as_table(answers()) ==
        "time (UTC+01:00)       metric             tags                         value\n"
        "2023-11-14 23:13:20    proc.cpu.user (%)  host=h,process=a \"b\", c\\x0a    1.5\n"
        "2023-11-14 23:13:21.5  x                                                   2\n"
        "2023-11-14 23:13:22    x                                                   -\n");
  unsetenv("TZ");
  tzset();
}

TEST_CASE("law: coverage: JSON, CSV and tables state the part of an interval that was collected, and a note that of the range") {
  Answer answer{"x", {}, {}, {{kT0, 2}, {kT0 + kSecond, 3}}};
  answer.partly = {{kT0 + kSecond, 0.75}};
  answer.coverage = 0.875;
  const std::string at = std::to_string(kT0 / 1'000'000 + 1000);
  CHECK(as_json({answer}).find(R"("aggregateTags":[],"coverage":0.875,"partly":[[)" + at + ",0.75]],") != std::string::npos);
  const std::string csv = as_csv({answer}), table = as_table({answer});
  CHECK(csv.find("value,unit,coverage\r\n") != std::string::npos);
  CHECK(csv.find(",x,2,,1\r\n") != std::string::npos);
  CHECK(csv.find(",x,3,,0.75\r\n") != std::string::npos);
  CHECK(table.find("coverage\n") != std::string::npos);
  CHECK(table.find("0.75\n") != std::string::npos);
  const Range range{kT0, kT0 + 100 * kSecond};
  CHECK(coverage_text(0.39, kSecond, range) == "the averages are of the 39 % of the time range that was collected");
  CHECK(coverage_text(0.985, kSecond, range).empty());  // the newest windows are not complete yet
  CHECK(coverage_text(1, 0, range).empty());
}

TEST_CASE("a value that is not finite is no number in any format") {
  const double infinite = std::numeric_limits<double>::infinity();
  const Answer answer{"x", {}, {}, {{1'700'000'000'000'000'000, infinite}, {1'700'000'001'000'000'000, -infinite}}, {}};
  for (const std::string &text : {as_json({answer}), as_csv({answer}), as_table({answer})})
    CHECK(text.find("inf") == std::string::npos);
  CHECK(as_json({answer}).find(R"("dps":[[1700000000000,null],[1700000001000,null]])") != std::string::npos);
}

TEST_CASE("numbers lose only the digits that are the arithmetic's") {
  CHECK(rounded_text(0.1 + 0.2) == "0.3");
  CHECK(rounded_text(2 * 9'007'199'254'740'994.0) == "18014398509481988");
  CHECK(rounded_text(1e300) == "1e+300");
}

TEST_CASE("XML has no character that it does not allow") {
  CHECK(xml_text("a\xef\xbf\xbe\xef\xbf\xbf<") == "a\\u{fffe}\\u{ffff}&lt;");
  CHECK(xml_text("\xf0\x9f\xbf\xbf") == "\\u{1ffff}");
  CHECK(xml_text("\xef\xbf\xbd") == "\xef\xbf\xbd");
}

}  // namespace
}  // namespace atalaya::query::test
