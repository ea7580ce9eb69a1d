// SPDX-License-Identifier: Apache-2.0
#include "core/control/drop_report.h"

#include <doctest/doctest.h>

using namespace atalaya::core;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

LedgerRow sink(std::map<std::string, int64_t, std::less<>> reasons, uint64_t spool = 0) {
  LedgerRow row{.type = RowType::sink, .pipeline = "host", .component = "sink http", .spool = spool};
  row.reasons = std::move(reasons);
  return row;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("the first drop of each reason is reported at once with its remedy, later ones once a minute with their sum") {
  DropReport report({});
  const Lines first = report.lines({sink({{"spool full", 3}})}, 0);
  REQUIRE(first.size() == 1);
  CHECK(first[0].starts_with("pipeline \"host\", sink http: 3 samples dropped (spool full): "));
  CHECK(first[0].ends_with(remedy_of_drop("spool full")));
  CHECK(report.lines({sink({{"spool full", 10}})}, 59 * kSecond).empty());
  const Lines other = report.lines({sink({{"spool full", 10}, {"no value", 1}})}, 59 * kSecond);
  CHECK(other == Lines{"pipeline \"host\", sink http: 1 samples dropped (no value)"});
  const Lines later = report.lines({sink({{"spool full", 12}, {"no value", 1}})}, 60 * kSecond);
  REQUIRE(later.size() == 1);
  CHECK(later[0].starts_with("pipeline \"host\", sink http: 9 samples dropped (spool full): "));
  CHECK(report.lines({sink({{"spool full", 12}, {"no value", 1}})}, 1000 * kSecond).empty());
}

TEST_CASE("drops that a filter was written for, and those of an earlier run, are not reported") {
  DropReport report({sink({{"spool full", 3}}, 1)});
  CHECK(report.lines({sink({{"spool full", 3}, {"filtered", 100}}, 1)}, 0).empty());
  // A reload: the component is new, with the counters of its spool.
  CHECK(report.lines({sink({{"too old", 7}}, 2)}, kSecond).empty());
  CHECK(report.lines({sink({{"too old", 8}}, 2)}, 2 * kSecond).size() == 1);
}
