// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/client/targets.h"

#include <doctest/doctest.h>
#include <atalaya/plugin.hpp>

using namespace atalaya::http_client;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

Targets three(std::vector<int64_t> weights = {}) {
  std::vector<Url> urls;
  for (const char *text : {"http://a:1", "http://b:2", "http://c:3"}) urls.push_back(parse_url(text, "/api/put"));
  return Targets(urls, std::move(weights), 5 * kSecond);
}

}  // namespace

TEST_CASE("http: the first server is used until it fails, and again when it may be tried") {
  Targets targets = three();
  CHECK(targets.pick(0, 0)->index == 0);
  targets.mark_failed(0, 2 * kSecond, 0);
  CHECK(targets.pick(0, kSecond)->index == 1);
  targets.mark_failed(1, kSecond, 0);
  targets.mark_failed(2, kSecond, 0);
  CHECK_FALSE(targets.pick(0, 0));
  CHECK(targets.wait(0) >= kSecond);
  CHECK(targets.wait(0) <= kSecond + kSecond / 10);
  CHECK(targets.pick(0, 3 * kSecond)->index == 0);
  CHECK(targets.pick(0, 3 * kSecond)->suspect);
  targets.mark_available(0);
  CHECK_FALSE(targets.pick(0, 0)->suspect);
}

TEST_CASE("http: the order of attempts begins with the servers that may be tried now") {
  Targets targets = three();
  CHECK(targets.order(0) == std::vector<size_t>{0, 1, 2});
  targets.mark_failed(0, 2 * kSecond, 0);
  CHECK(targets.order(kSecond) == std::vector<size_t>{1, 2, 0});
  targets.mark_failed(1, kSecond, 0);
  CHECK(targets.order(0) == std::vector<size_t>{2, 0, 1});
  CHECK(targets.order(3 * kSecond) == std::vector<size_t>{0, 1, 2});
}

TEST_CASE("http: pauses double up to retry_max, between half of it and all of it") {
  Targets targets(std::vector<Url>{parse_url("http://a", "/")}, {}, 5 * kSecond);
  int64_t now = 0;
  int64_t expected = kSecond / 10;
  for (int i = 0; i < 40; ++i) {
    targets.mark_failed(0, 0, now);
    CHECK(targets.wait(now) >= expected / 2);
    CHECK(targets.wait(now) <= expected);
    now += targets.wait(now);
    expected = std::min(expected * 2, 5 * kSecond);
  }
}

TEST_CASE("http: requests that fail together are one failure") {
  Targets targets = three();
  for (int i = 0; i < 20; ++i) targets.mark_failed(0, 0, 0);
  targets.mark_failed(1, kSecond, 0);
  targets.mark_failed(2, kSecond, 0);
  CHECK(targets.wait(0) <= kSecond / 10);
}

TEST_CASE("http: series are distributed by the weights, and only those of a removed server move") {
  const Targets targets = three({1, 3, 0});
  int counts[3] = {};
  for (uint64_t series = 0; series < 4000; ++series) ++counts[targets.home(series * 0x9e3779b97f4a7c15U)];
  CHECK(counts[0] > 800);
  CHECK(counts[0] < 1200);
  CHECK(counts[2] == 0);
}

TEST_CASE("http: urls") {
  const Url url = parse_url("https://hub.example/api/put?sync", "/x");
  CHECK(url.tls);
  CHECK(url.port == 443);
  CHECK(url.target == "/api/put?sync");
  CHECK(url.text == "https://hub.example/api/put");
  CHECK(parse_url("http://h:1", "/api/put").target == "/api/put");
  CHECK(parse_url("http://h:1/?db=x", "/write").target == "/?db=x");
  CHECK(parse_url("http://h:1?db=x", "/write").target == "/write?db=x");
  for (const char *bad : {"", "h:1", "ftp://h", "http://", "http://user:secret@h"})
    CHECK_THROWS_AS(parse_url(bad, "/"), atalaya::Failure);
  try {
    parse_url("http://user:secret@h", "/");
  } catch (const atalaya::Failure &failure) {
    CHECK(std::string(failure.what()).find("secret") == std::string::npos);
  }
}
