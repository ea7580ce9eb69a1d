// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/http/answer.h"

#include <doctest/doctest.h>

using namespace atalaya::http_sink;

namespace {
constexpr int64_t kSecond = 1'000'000'000;
}

TEST_CASE("http: only an error about the points counts as a refusal of points") {
  for (const int status : {200, 201, 204}) CHECK(verdict_of(status) == Verdict::accepted);
  for (const int status : {400, 413, 422}) CHECK(verdict_of(status) == Verdict::refused);
  for (const int status : {0, 100, 302, 401, 403, 404, 405, 407, 408, 429, 500, 503, 999})
    CHECK(verdict_of(status) == Verdict::retry);
}

TEST_CASE("http: Retry-After in seconds, as a date, and as nonsense") {
  constexpr int64_t now = 784111777 * kSecond;  // Sun, 06 Nov 1994 08:49:37 GMT
  CHECK(retry_after("7", now) == 7 * kSecond);
  CHECK(retry_after("Sun, 06 Nov 1994 08:49:47 GMT", now) == 10 * kSecond);
  CHECK(retry_after("Sun, 06 Nov 1994 08:49:00 GMT", now) == 0);
  CHECK(retry_after("99999999", now) == 300 * kSecond);
  for (const char *nonsense : {"", "-5", "soon", "7 s", "99999999999999999999", "Sun"}) CHECK(retry_after(nonsense, now) == 0);
}

TEST_CASE("http: OpenTSDB's details name the points, for any order of tags and form of times") {
  const auto points = refused_points(
      R"({"success":1,"failed":2,"errors":[)"
      R"({"datapoint":{"metric":"a","timestamp":1,"value":"1","tags":{"x":"1","host":"h"}},"error":"Unknown metric"},)"
      R"({"datapoint":{"metric":"b","timestamp":"2","value":"1","tags":{"host":"h"}},"error":"Please throttle writes"}]})");
  REQUIRE(points);
  REQUIRE(points->size() == 2);
  CHECK((*points)[0].key == point_key(R"({"metric":"a","timestamp":1,"value":5,"tags":{"host":"h","x":"1"}})"));
  CHECK((*points)[0].error == "Unknown metric");
  CHECK_FALSE((*points)[0].retry);
  CHECK((*points)[1].retry);
}

TEST_CASE("http: details that do not add up are not believed") {
  CHECK_FALSE(refused_points(R"({"success":0,"failed":2,"errors":[]})"));
  CHECK_FALSE(refused_points(R"({"failed":1,"errors":[{"datapoint":7,"error":"x"}]})"));
  CHECK_FALSE(refused_points(R"({"failed":1,"errors":[{"error":"x"}]})"));
  CHECK_FALSE(refused_points("cannot parse"));
  CHECK_FALSE(refused_points(""));
  CHECK_FALSE(refused_points("[]"));
}
