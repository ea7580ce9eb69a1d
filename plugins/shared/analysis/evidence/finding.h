// SPDX-License-Identifier: Apache-2.0
// A finding of an analysis, and the order of findings. Jobs, explanations and phases add their details to it.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace atalaya::evidence {

struct Finding {
  std::string summary;  // one sentence
  double chance = 1;    // the probability that chance alone makes such a difference; 1 without a test
  int tier = 0;         // a smaller tier comes first: causes before effects, nodes before tasks
  double weight = 0;    // in a tier, a larger weight comes first
};

// Findings of the same tier and weight keep their order.
template <class Found>
void rank(std::vector<Found> &findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding &a, const Finding &b) {
    return std::tuple(a.tier, -a.weight) < std::tuple(b.tier, -b.weight);
  });
}

}  // namespace atalaya::evidence
