// SPDX-License-Identifier: Apache-2.0
// Time of mining the phases of traces of growing length: it must grow like the length.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "plugins/shared/analysis/phases/mining/mine.h"
#include "tests/unit/analysis/phases/traces.h"

namespace {

using namespace atalaya::phases;

double seconds_for(size_t samples) {
  const std::vector<test::Kind> kinds = {{100, {6, 3, 1}, 2}, {200, {4, 4, 2}, 2}, {300, {1}, 1}, {400, {3, 3, 2, 1, 1}, 3}};
  std::mt19937 random(1);
  std::vector<test::Planted> order;
  for (size_t planned = 0; planned < samples;) {
    const size_t size = std::min<size_t>(60 + random() % 600, samples - planned);
    size_t kind = random() % kinds.size();
    while (!order.empty() && kind == order.back().kind) kind = random() % kinds.size();  // two of one kind would be one segment
    order.push_back({kind, size});
    planned += size;
  }
  const Trace trace = test::trace_of(kinds, order, {.foreign = 0.05}, 2);
  const auto begin = std::chrono::steady_clock::now();
  const Mined mined = mine(trace, {});
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%10zu samples: %8.3f s, %6.3f us per sample, %zu phases, %zu segments of %zu planted\n", samples, passed,
              passed * 1e6 / static_cast<double>(samples), mined.phases.size(), mined.segments.size(), order.size());
  return passed;
}

}  // namespace

int main(int argc, char **argv) {
  const size_t maximum = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  for (size_t samples = 10'000; samples <= maximum; samples *= 10) seconds_for(samples);
  return 0;
}
