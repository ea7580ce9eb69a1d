// SPDX-License-Identifier: Apache-2.0
// The law of borders: no other place, and no other phase beyond it, makes the samples more likely. The oracle tries all of them.
#include "plugins/shared/analysis/phases/mining/labels.h"

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <vector>

namespace atalaya::phases {
namespace {

Trace trace_of_functions(const std::vector<uint32_t> &functions) {
  Trace trace;
  int64_t time_ns = 0;
  for (const uint32_t function : functions) {
    const std::vector<Part> parts = {{0, 1}, {function, 1}};
    trace.add(time_ns += 1'000'000'000, parts, 1);
  }
  return trace;
}

Profile profile_of(const std::vector<uint32_t> &functions) {
  return {trace_of_functions(functions), 0, functions.size()};
}

// The logarithm of the likelihood of the samples, with the first `own` of this phase and all others of the other phase.
double likelihood(const Trace &trace, const Fit &fit, size_t phase, size_t own, size_t other) {
  std::vector<double> fits(fit.states());
  double sum = 0;
  for (size_t i = 0; i < trace.size(); ++i) {
    fit.rate(trace, i, fits);
    sum += fits[i < own ? phase : other];
  }
  return sum;
}

double highest_with(const Trace &trace, const Fit &fit, size_t phase, size_t own) {
  double highest = -std::numeric_limits<double>::infinity();
  for (size_t other = 0; other < fit.states(); ++other) highest = std::max(highest, likelihood(trace, fit, phase, own, other));
  return highest;
}

TEST_CASE("no other border of a phase is more likely, whatever the phase beyond it is") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto any = [&](size_t count) {
      std::vector<uint32_t> functions(count);
      for (uint32_t &function : functions) function = 1 + static_cast<uint32_t>(random() % 5);
      return functions;
    };
    std::vector<Profile> phases;
    for (size_t i = 0; i < 1 + seed % 4; ++i) phases.push_back(profile_of(any(6)));
    const std::vector<uint32_t> functions = any(1 + random() % 30);
    const Trace trace = trace_of_functions(functions);
    const Fit fit(phases, trace.symbols());
    const size_t phase = random() % phases.size(), end = border(trace, phases, phase, trace.size(), Side::end);
    REQUIRE(end <= trace.size());
    const double found = highest_with(trace, fit, phase, end);
    for (size_t own = 0; own <= trace.size(); ++own) CHECK(highest_with(trace, fit, phase, own) <= found + 1e-6);
    const Trace reversed = trace_of_functions({functions.rbegin(), functions.rend()});
    CHECK(border(reversed, phases, phase, trace.size(), Side::begin) == trace.size() - end);
  }
}

// One phase beyond the border: that each sample is more likely of some other phase does not make it one of them.
TEST_CASE("a phase whose samples each look like some other phase keeps its border") {
  const std::vector<Profile> phases = {profile_of({1, 2, 1, 2, 1, 2}), profile_of({1, 1, 1, 1}), profile_of({2, 2, 2, 2}),
                                       profile_of({3, 3, 3, 3})};
  for (size_t own = 2; own < 20; ++own) {
    CAPTURE(own);
    std::vector<uint32_t> functions;
    for (size_t i = 0; i < own; ++i) functions.push_back(1 + i % 2);
    functions.insert(functions.end(), 10, 3);
    CHECK(border(trace_of_functions(functions), phases, 0, functions.size(), Side::end) == own);
  }
}

}  // namespace
}  // namespace atalaya::phases
