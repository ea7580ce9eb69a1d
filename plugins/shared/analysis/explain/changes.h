// SPDX-License-Identifier: Apache-2.0
// The difference of one resource between two ranges, as parts that add up to it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "plugins/shared/analysis/explain/measure.h"

namespace atalaya::explain {

// Means over the complete steps of each range.
struct Difference {
  double before = 0, after = 0;
  double chance = 1;            // the probability that chance alone makes such a difference; not computed for small parts
  double spread = 0;            // range of the baseline's step values, without the largest and the smallest
  bool is_significant = false;  // beyond chance, and large enough to matter

  double change() const { return after - before; }
};

struct PartChange {
  Tags tags, common;
  Difference difference;
};

struct Change {
  Resource resource;
  Difference total;
  double capacity = 1;
  std::vector<PartChange> parts;  // all parts, the largest difference first; the first `named` are reported by name
  size_t named = 0;

  bool is_finding() const { return total.is_significant || named > 0; }
  // The sum of the parts that are not named.
  Difference other() const;
  // The largest difference of the total and the named parts, as a part of the capacity: from 0 to 1.
  double severity() const;
  // Smaller differences do not matter.
  double min_difference() const { return resource.min_share_of_capacity * capacity; }
};

// A finding: its chance is below evidence::kChance / tests, its difference is larger than kSpreads spreads of the baseline, than 5
// % of the baseline, and than a share of the capacity.
inline constexpr double kSpreads = 1.5;
inline constexpr double kMinPart = 0.05;

// The means of each host, if the baseline is the mean of several hosts: by part, and of all parts.
struct PeerMeans {
  std::map<Tags, std::vector<double>> parts;
  std::vector<double> total;
};
// For each part the mean over these hosts. The result names no host.
Parts peers_mean(const Parts &by_host, const std::vector<std::string> &hosts, const Steps &steps, PeerMeans &means);

// Computes a change without its verdict. With `peers`, the chance is at least that of one more host
// (evidence::one_more_chance).
Change change_of(const Resource &resource, const Parts &before, const Parts &after, const Steps &baseline, const Steps &window,
                 double capacity, const PeerMeans *peers = nullptr);
// Differences that are large enough to be tested.
size_t tests_of(const Change &change);
// Sets the verdicts, and names at most `maximum` parts.
void judge(Change &change, size_t tests, size_t maximum);

}  // namespace atalaya::explain
