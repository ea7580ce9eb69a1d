// SPDX-License-Identifier: Apache-2.0
// Shared parts of the tests of roll-ups.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/pieces.h"
#include "tests/unit/store/engines/fixture.h"

namespace atalaya::store::test {

constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kStart = kNow - kNow % kDay;
constexpr int64_t kAfter = 2 * kDay;
constexpr int64_t kLater = kStart + 10 * kDay;

inline Limits with_rollup(std::vector<RollupLevel> levels = {{kAfter, kMinute, {}}}) {
  return {.rollup = std::move(levels)};
}

inline void settle(Writer &writer, int64_t now_ns) {
  for (int i = 0; i < 40; ++i) writer.write({}, now_ns);  // whatever was written to is quiet
  while (writer.maintain(now_ns)) {
  }
}

inline std::vector<query::Answer> ask(const TestStore &store, const std::string &every, query::Edge edge = query::Edge::end,
                                      bool rate = false, Range range = {kStart, kStart + kDay}) {
  SqliteStore reader(store.path);
  query::Query question;
  question.metrics = {"*"};
  question.range = range;
  question.group = false;
  question.edge = edge;
  if (!every.empty()) query::set_downsample(question, "every", every);
  if (rate) question.rate = query::Rate{};
  const query::Limits limits;
  query::Budget budget(limits);
  return query::run_query(question, reader, budget);
}

inline void check_same(const std::vector<query::Answer> &a, const std::vector<query::Answer> &b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].metric == b[i].metric);
    CHECK(a[i].tags == b[i].tags);
    CAPTURE(a[i].metric);
    CAPTURE(i);
    REQUIRE(a[i].points.size() == b[i].points.size());
    for (size_t k = 0; k < a[i].points.size(); ++k) {
      CAPTURE((a[i].points[k].time_ns - kStart) / kSecond);
      REQUIRE(a[i].points[k].time_ns == b[i].points[k].time_ns);
      REQUIRE(a[i].points[k].value == doctest::Approx(b[i].points[k].value).epsilon(1e-12));
    }
  }
}

// An hour of one series at 5 s: 0, 1, 2, ...
inline void write_hour(TestStore &store, Writer &writer, const char *metric, int64_t begin_s = 0) {
  for (int64_t i = 0; i < 720; ++i) {
    Samples samples(store.symbols);
    samples.metrics(kStart + (begin_s + 5 * (i + 1)) * kSecond, {{"host", "ant"}}, 5 * kSecond).count(metric, i);
    writer.write(samples.span(), kStart + (begin_s + 5 * i) * kSecond);
  }
}

}  // namespace atalaya::store::test
