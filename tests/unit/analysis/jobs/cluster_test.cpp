// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "plugins/shared/analysis/jobs/reasons/cluster.h"

namespace atalaya::bottleneck {
namespace {

// The least cost there is: clusters in one dimension are stretches, and every way to cut is tried by dynamic programming.
double least_cost(std::vector<double> values, size_t count) {
  std::sort(values.begin(), values.end());
  const size_t size = values.size();
  std::vector<double> sums = {0};  // sums[n]: sum of the first n
  for (const double value : values) sums.push_back(sums.back() + value);
  const auto cost = [&](size_t begin, size_t end) {
    const size_t middle = begin + (end - begin) / 2;
    const auto below = static_cast<double>(middle - begin), above = static_cast<double>(end - middle);
    return sums[end] - 2 * sums[middle] + sums[begin] + values[middle] * (below - above);
  };
  std::vector<double> best(size + 1, std::numeric_limits<double>::infinity());
  best[0] = 0;
  for (size_t k = 0; k < count; ++k) {
    std::vector<double> next(size + 1, std::numeric_limits<double>::infinity());
    next[0] = 0;
    for (size_t end = 1; end <= size; ++end)
      for (size_t begin = 0; begin < end; ++begin) next[end] = std::min(next[end], best[begin] + cost(begin, end));
    best = next;
  }
  return best[size];
}

TEST_CASE("clusters that lie apart are found, by either way") {
  const std::vector<double> values = {50, 1, 2, 51, 100, 3, 52, 101, 200, 400, 201, 401, 99, 199, 399};
  for (const jobs::Clustering clustering : {jobs::Clustering::pam, jobs::Clustering::kmeans}) {
    const jobs::Clusters found = clusters_of(values, 5, clustering);
    CHECK(found.centres == std::vector<double>{2, 51, 100, 200, 400});
    CHECK(found.of_value == std::vector<uint8_t>{1, 0, 0, 1, 2, 0, 1, 2, 3, 4, 3, 4, 2, 3, 4});
    CHECK(found.cost == 10);
  }
}

TEST_CASE("there are no more clusters than different values") {
  CHECK(clusters_of({}, 5, jobs::Clustering::pam).centres.empty());
  CHECK(clusters_of({7, 7, 7}, 5, jobs::Clustering::pam).centres == std::vector<double>{7});
  const jobs::Clusters two = clusters_of({7, 1, 7}, 5, jobs::Clustering::kmeans);
  CHECK(two.centres == std::vector<double>{1, 7});
  CHECK(two.of_value == std::vector<uint8_t>{1, 0, 1});
}

TEST_CASE("an extreme does not draw a medoid to itself") {
  const jobs::Clusters found = clusters_of({10, 11, 12, 13, 1000}, 2, jobs::Clustering::pam);
  CHECK(found.centres == std::vector<double>{11, 1000});
  CHECK(clusters_of({10, 11, 12, 13, 1000}, 1, jobs::Clustering::pam).centres == std::vector<double>{12});
}

TEST_CASE("PAM comes close to the minimum cost") {
  std::mt19937_64 random(1);
  double worst = 1, sum = 0;
  constexpr int kSets = 300;
  for (int set = 0; set < kSets; ++set) {
    std::vector<double> values;
    const size_t size = 6 + random() % 60;
    std::lognormal_distribution<double> speeds(10, set % 3 == 0 ? 0.1 : 1);
    for (size_t i = 0; i < size; ++i) values.push_back(set % 3 == 1 ? static_cast<double>(random() % 12) : speeds(random));
    const double minimum = least_cost(values, 5), found = clusters_of(values, 5, jobs::Clustering::pam).cost;
    CHECK(found >= minimum - 1e-6 * minimum);
    const double ratio = minimum > 0 ? found / minimum : 1;
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  CHECK(worst < 1.35);  // a local optimum it may be
  CHECK(sum / kSets < 1.02);
}

TEST_CASE("many values are compressed, and it hardly shows") {
  std::mt19937_64 random(2);
  std::lognormal_distribution<double> speeds(10, 0.5);
  std::vector<double> values(3'000);
  for (double &value : values) value = speeds(random);
  const double minimum = least_cost(values, 5);
  CHECK(clusters_of(values, 5, jobs::Clustering::pam).cost <= minimum * 1.02);
}

}  // namespace
}  // namespace atalaya::bottleneck
