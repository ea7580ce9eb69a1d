// SPDX-License-Identifier: Apache-2.0
// Clusters of numbers: k-medoids (PAM) and k-means in one dimension. docs/decisions/jobs-and-bottlenecks.md has the reasons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace atalaya::jobs {

enum class Clustering { pam, kmeans };

struct Clusters {
  std::vector<double> centres;    // ascending: medoids, which are values, or means
  std::vector<uint8_t> of_value;  // index of the centre of each value
  double cost = 0;                // sum of the distances to the medoids; for k-means, sum of their squares
};

// Divides the values into at most `count` (up to 255) clusters, and at most one per different value.
Clusters clusters_of(const std::vector<double> &values, size_t count, Clustering clustering);

}  // namespace atalaya::jobs
