// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/models/profile.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "tests/unit/analysis/phases/traces.h"

namespace atalaya::phases {
namespace {

using doctest::Approx;

Profile profile(std::vector<Part> parts) {
  return {std::move(parts), {}};
}

TEST_CASE("the published measures, by hand") {
  // 100 and 100 threads: chance adds (3 - 1) / 8 * 2 / 100 = 0.005 to t_sim.
  const Profile a = profile({{1, 50}, {2, 50}}), b = profile({{1, 50}, {3, 50}});
  const Similarity found = similarity(a, b, 0.02);
  CHECK(found.functions == Approx(0.5));  // 1 common of 2
  CHECK(found.times == Approx(0.505));
  CHECK(found.distance == Approx(0));  // the printed equation does not see what is not common
  const Similarity shifted = similarity(profile({{1, 64}, {2, 36}}), profile({{1, 36}, {2, 64}}), 0.02);
  CHECK(shifted.functions == 1);
  CHECK(shifted.distance == Approx(2 * 0.2 * 0.2));
  CHECK(shifted.times == Approx(1 - shifted.distance / 2 + 0.0025));
}

TEST_CASE("a profile is like itself, unlike one without a common function, and both ways alike") {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<Part> left, right;
    for (uint32_t symbol = 0; symbol < 12; ++symbol) {
      left.push_back({symbol, static_cast<double>(random() % 50)});
      right.push_back({symbol, static_cast<double>(random() % 50)});
    }
    left.push_back({20, 1}), right.push_back({21, 1});
    const Profile a = profile(left), b = profile(right);
    const Similarity one = similarity(a, b, 0.02), other = similarity(b, a, 0.02), self = similarity(a, a, 0.02);
    CHECK(self.functions == 1);
    CHECK(self.times == Approx(1));
    CHECK(one.functions == Approx(other.functions));
    CHECK(one.times == Approx(other.times));
    CHECK(one.times <= 1);
    CHECK(one.functions <= 1);
    CHECK(one.distance <= 2);
    for (Part &part : right) part.symbol += 100;
    CHECK(similarity(a, profile(right), 0.02).functions == 0);
    CHECK_FALSE(match(a, profile(right), {}));
  }
}

// Windows of one phase must match, and windows of another phase with the same functions in other shares must not.
TEST_CASE("windows match their own phase in most cases, and never another one") {
  const std::vector<test::Kind> kinds = {{100, {5, 3, 2, 1, 1, 1}, 4}, {100, {1, 1, 1, 2, 3, 5}, 4}};
  for (const size_t window : {8, 16, 32}) {
    const Trace one = test::trace_of(kinds, {{0, 200 * window}}, {.foreign = 0.05}, 11);
    const Trace other = test::trace_of(kinds, {{1, 200 * window}}, {.foreign = 0.05}, 12);
    const Profile reference(one, 0, one.size());
    int own = 0, wrong = 0;
    for (size_t i = 0; i < 200; ++i) {
      own += match(Profile(one, i * window, (i + 1) * window), reference, {}) ? 1 : 0;
      wrong += match(Profile(other, i * window, (i + 1) * window), reference, {}) ? 1 : 0;
    }
    CAPTURE(window);
    CHECK(own >= (window >= 16 ? 190 : 100));
    CHECK(wrong == 0);
  }
}

TEST_CASE("numbers of threads differ only by more than chance and a tenth") {
  const auto of = [](std::initializer_list<double> values) {
    Moments moments;
    for (const double value : values) moments.add(value);
    return moments;
  };
  CHECK_FALSE(differ_in_threads(of({4, 4, 4, 4, 4}), of({4, 4, 4, 4, 4})));
  CHECK(differ_in_threads(of({4, 4, 4, 4, 4}), of({8, 8, 8, 8, 8})));
  CHECK_FALSE(differ_in_threads(of({100, 100, 100, 100, 100}), of({105, 105, 105, 105, 105})));
  CHECK_FALSE(differ_in_threads(of({1, 9, 3, 7, 5}), of({5, 2, 8, 6, 4})));
  CHECK_FALSE(differ_in_threads(of({4}), of({8})));  // one number has no spread
}

TEST_CASE("the test of threads has its rate of errors") {
  std::mt19937 random(5);
  std::normal_distribution<double> threads(20, 4);
  int found = 0;
  constexpr int kRounds = 20'000;
  for (int round = 0; round < kRounds; ++round) {
    Moments a, b;
    for (int i = 0; i < 8; ++i) a.add(threads(random)), b.add(threads(random));
    found += differ_in_threads(a, b) ? 1 : 0;
  }
  CHECK(found <= kRounds / 500);  // 0.1 % and its error
  CHECK(found > 0);
}

TEST_CASE("moments added in parts are those of all values") {
  std::mt19937 random(6);
  std::exponential_distribution<double> value(0.5);
  for (int round = 0; round < 100; ++round) {
    std::vector<double> values;
    Moments all, parts, part;
    for (int i = 0; i < 50; ++i) {
      values.push_back(value(random) + 1000);
      all.add(values.back());
      part.add(values.back());
      if (random() % 7 == 0) parts.add(std::exchange(part, {}));
    }
    parts.add(part);
    double mean = 0, m2 = 0, m3 = 0;
    for (const double v : values) mean += v / 50;
    for (const double v : values) m2 += (v - mean) * (v - mean), m3 += std::pow(v - mean, 3);
    for (const Moments &moments : {all, parts}) {
      CHECK(moments.mean == Approx(mean));
      CHECK(moments.deviation() == Approx(std::sqrt(m2 / 49)));
      CHECK(moments.skewness() == Approx(m3 / 50 / std::pow(m2 / 50, 1.5)));
    }
  }
  Moments constant;
  for (int i = 0; i < 9; ++i) constant.add(0.1);
  CHECK(constant.skewness() == 0);
}

}  // namespace
}  // namespace atalaya::phases
