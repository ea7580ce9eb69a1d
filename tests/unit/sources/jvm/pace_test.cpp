// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/profile/pace.h"

#include <doctest/doctest.h>

namespace atalaya::jvm {

TEST_CASE("expensive work runs less often, so that its share is the same") {
  for (const int64_t cost : {1'000'000, 50'000'000}) {
    Pace pace(7);
    int64_t all = 0, spent = 0;
    for (int i = 0; i < 10'000; ++i) {
      spent += cost;
      all += cost + pace.pause(cost, 0.02, 0);
    }
    CHECK(static_cast<double>(spent) / static_cast<double>(all) == doctest::Approx(0.02).epsilon(0.02));
  }
}

TEST_CASE("the rate of cheap work is bounded, and expensive work runs again eventually") {
  Pace pace(7);
  for (int i = 0; i < 1000; ++i) {
    const int64_t pause = pace.pause(0, 0.02, 10'000'000);
    CHECK(pause >= 10'000'000);
    CHECK(pause <= 15'000'000);
  }
  CHECK(pace.pause(INT64_MAX, 0.001, 0) <= 5'400'000'000'000);
  CHECK(pace.pause(-1, 0.001, 0) == 0);
}

}  // namespace atalaya::jvm
