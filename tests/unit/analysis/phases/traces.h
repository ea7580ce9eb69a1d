// SPDX-License-Identifier: Apache-2.0
// Traces with planted phases. Shares no code with the miner.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "plugins/shared/analysis/phases/mining/trace.h"
#include "tests/unit/rounds.h"

namespace atalaya::phases::test {

using atalaya::test::rounds;

// A planted phase: functions 100 * kind + 1 ... with these weights, and a number of threads.
struct Kind {
  uint32_t first;  // its first function
  std::vector<double> weights;
  int threads;
};

struct Planted {
  size_t kind;
  size_t samples;
};

struct Noise {
  double foreign = 0;    // the part of the threads in a random other function
  int threads = 0;       // threads more or less than planned, evenly
  uint32_t others = 40;  // different foreign functions
};

inline Trace trace_of(const std::vector<Kind> &kinds, const std::vector<Planted> &order, const Noise &noise, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> part(0, 1);
  Trace trace;
  int64_t time = 0;
  for (const Planted &planted : order) {
    const Kind &kind = kinds[planted.kind];
    std::discrete_distribution<uint32_t> function(kind.weights.begin(), kind.weights.end());
    for (size_t i = 0; i < planted.samples; ++i) {
      const int apart = noise.threads == 0 ? 0 : std::uniform_int_distribution<int>(-noise.threads, noise.threads)(random);
      const int threads = std::max(kind.threads + apart, 1);
      std::vector<Part> parts;
      for (int t = 0; t < threads; ++t) {
        const bool foreign = part(random) < noise.foreign;
        parts.push_back(
            {foreign ? 10000 + std::uniform_int_distribution<uint32_t>(0, noise.others - 1)(random) : kind.first + function(random),
             1});
      }
      trace.add(time += 1'000'000'000, parts, threads);
    }
  }
  return trace;
}

}  // namespace atalaya::phases::test
