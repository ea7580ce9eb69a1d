// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/reasons/cluster.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace atalaya::jobs {
namespace {

// With more values, medoids are searched among this number of ranges of equal weight, then moved to the best value.
constexpr size_t kMaxCandidates = 2048;
constexpr size_t kMaxRounds = 1000;  // each one lowers the cost, so that the search ends in any case

// The different values in ascending order with their counts, and sums that give the cost of a range in a few steps.
class Sorted {
 public:
  explicit Sorted(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    weights_.push_back(0);
    sums_.push_back(0);
    // Values are stored as differences to the first one: their sums are more exact than sums of large values.
    base_ = values.empty() ? 0 : values[values.size() / 2];
    squares_.push_back(0);
    for (size_t i = 0; i < values.size();) {
      size_t end = i;
      while (end < values.size() && values[end] == values[i]) ++end;
      add(values[i], static_cast<double>(end - i));
      i = end;
    }
  }

  size_t size() const { return at_.size(); }
  double operator[](size_t i) const { return at_[i]; }
  double weight(size_t begin, size_t end) const { return weights_[end] - weights_[begin]; }
  double mean(size_t begin, size_t end) const { return base_ + (sums_[end] - sums_[begin]) / weight(begin, end); }

  // Sum of the distances of the values [begin, end) to the value at `middle` in this range.
  double distances(size_t begin, size_t end, size_t middle) const {
    const double place = at_[middle] - base_;
    return place * weight(begin, middle) - (sums_[middle] - sums_[begin]) + (sums_[end] - sums_[middle]) -
           place * weight(middle, end);
  }
  double squares(size_t begin, size_t end) const {
    const double sum = sums_[end] - sums_[begin];
    return std::max(0.0, squares_[end] - squares_[begin] - sum * sum / weight(begin, end));
  }
  // The weighted median of [begin, end): its medoid.
  size_t middle(size_t begin, size_t end) const {
    const double half = (weights_[begin] + weights_[end]) / 2;
    const auto found = std::lower_bound(weights_.begin() + static_cast<ptrdiff_t>(begin) + 1,
                                        weights_.begin() + static_cast<ptrdiff_t>(end), half);
    return static_cast<size_t>(found - weights_.begin()) - 1;
  }
  // The first value between two centres that belongs to the right one; at least `from`. Searches from `from` on.
  size_t first_after(double place, size_t from = 0) const {
    size_t step = 1;
    while (from + step < size() && at_[from + step - 1] <= place) {
      from += step;
      step *= 2;
    }
    const auto begin = at_.begin() + static_cast<ptrdiff_t>(from);
    const auto end = at_.begin() + static_cast<ptrdiff_t>(std::min(from + step, size()));
    return static_cast<size_t>(std::upper_bound(begin, end, place) - at_.begin());
  }
  // Indices that divide the values into ranges of approximately equal weight.
  std::vector<size_t> candidates() const {
    std::vector<size_t> all;
    if (size() <= kMaxCandidates) {
      all.resize(size());
      std::iota(all.begin(), all.end(), size_t{0});
      return all;
    }
    const double part = weights_.back() / static_cast<double>(kMaxCandidates);
    for (size_t i = 0; i < kMaxCandidates; ++i) {
      const auto found = std::upper_bound(weights_.begin(), weights_.end(), (static_cast<double>(i) + 0.5) * part);
      const auto place = std::min(static_cast<size_t>(found - weights_.begin()) - 1, size() - 1);
      if (all.empty() || all.back() != place) all.push_back(place);
    }
    // Adds the extreme values: there are few, and they may be the most important ones.
    if (all.front() != 0) all.insert(all.begin(), 0);
    if (all.back() != size() - 1) all.push_back(size() - 1);
    return all;
  }

 private:
  void add(double value, double weight) {
    const double difference = value - base_;
    at_.push_back(value);
    weights_.push_back(weights_.back() + weight);
    sums_.push_back(sums_.back() + weight * difference);
    squares_.push_back(squares_.back() + weight * difference * difference);
  }

  double base_ = 0;
  std::vector<double> at_, weights_, sums_, squares_;  // sums_, squares_ and weights_: cumulated over the preceding values
};

using Medoids = std::vector<size_t>;  // indices of values, ascending

// The first value that belongs to the right one of two medoids.
size_t border(const Sorted &values, size_t left, size_t right, size_t from = 0) {
  const double between = values[left] + (values[right] - values[left]) / 2;
  return std::clamp(values.first_after(between, from), left + 1, right);
}

// The starts of the clusters of these medoids, and the end of the last cluster.
std::vector<size_t> borders_of(const Sorted &values, const Medoids &medoids) {
  std::vector<size_t> borders = {0};
  for (size_t i = 1; i < medoids.size(); ++i) borders.push_back(border(values, medoids[i - 1], medoids[i]));
  borders.push_back(values.size());
  return borders;
}

double cost_of(const Sorted &values, const Medoids &medoids) {
  const std::vector<size_t> borders = borders_of(values, medoids);
  double cost = 0;
  for (size_t i = 0; i < medoids.size(); ++i) cost += values.distances(borders[i], borders[i + 1], medoids[i]);
  return cost;
}

// The borders on both sides of an additional medoid. They increase with it.
struct Between {
  size_t left = 0, right = 0;
};

// The cost that an additional medoid saves: it gets values only from its two adjacent clusters.
double saved_by(const Sorted &values, const Medoids &medoids, const std::vector<size_t> &borders, size_t one, Between &last) {
  const auto next = static_cast<size_t>(std::upper_bound(medoids.begin(), medoids.end(), one) - medoids.begin());
  size_t begin = 0, end = values.size();
  double before = 0, after = 0;
  if (next > 0) {
    if (medoids[next - 1] == one) return 0;
    begin = last.left = border(values, medoids[next - 1], one, last.left);
    before += values.distances(borders[next - 1], borders[next], medoids[next - 1]);
    after += values.distances(borders[next - 1], begin, medoids[next - 1]);
  }
  if (next < medoids.size()) {
    end = last.right = border(values, one, medoids[next], last.right);
    before += values.distances(borders[next], borders[next + 1], medoids[next]);
    after += values.distances(end, borders[next + 1], medoids[next]);
  }
  return before - after - values.distances(begin, end, one);
}

// The medoid with the largest saving; nothing if none saves anything.
std::optional<size_t> best_of(const Sorted &values, const std::vector<size_t> &candidates, const Medoids &medoids, double &saved) {
  const std::vector<size_t> borders = borders_of(values, medoids);
  std::optional<size_t> best;
  Between last;
  saved = 0;
  for (const size_t candidate : candidates) {
    const double its = saved_by(values, medoids, borders, candidate, last);
    if (its <= saved) continue;
    saved = its;
    best = candidate;
  }
  return best;
}

void insert(Medoids &medoids, size_t one) {
  medoids.insert(std::upper_bound(medoids.begin(), medoids.end(), one), one);
}

// PAM, part 1 (build): starts with the best single medoid, then repeatedly adds the one with the largest saving.
Medoids build(const Sorted &values, const std::vector<size_t> &candidates, size_t count) {
  Medoids medoids = {values.middle(0, values.size())};
  double saved = 0;
  while (medoids.size() < count) {
    const auto best = best_of(values, candidates, medoids, saved);
    if (!best) break;
    insert(medoids, *best);
  }
  return medoids;
}

// PAM, part 2 (swap): repeatedly exchanges a medoid for the value that reduces the cost most.
void swap(const Sorted &values, const std::vector<size_t> &candidates, Medoids &medoids) {
  constexpr double kLess = 1 - 1e-12;  // minimum relative reduction of the cost, above rounding errors
  for (size_t round = 0; round < kMaxRounds; ++round) {
    const double now = cost_of(values, medoids);
    double lowest = now * kLess;
    Medoids found;
    for (size_t i = 0; i < medoids.size() && medoids.size() > 1; ++i) {
      Medoids rest = medoids;
      rest.erase(rest.begin() + static_cast<ptrdiff_t>(i));
      double saved = 0;
      const auto best = best_of(values, candidates, rest, saved);
      const double cost = cost_of(values, rest) - saved;
      if (!best || cost >= lowest) continue;
      lowest = cost;
      insert(rest, *best);
      found = std::move(rest);
    }
    if (found.empty()) return;
    medoids = std::move(found);
  }
}

// Moves the medoid of each cluster to the median of the cluster until no medoid changes.
void settle(const Sorted &values, Medoids &medoids) {
  for (size_t round = 0; round < kMaxRounds; ++round) {
    const std::vector<size_t> borders = borders_of(values, medoids);
    Medoids moved;
    for (size_t i = 0; i < medoids.size(); ++i) moved.push_back(values.middle(borders[i], borders[i + 1]));
    if (moved == medoids) return;
    medoids = std::move(moved);
  }
}

Medoids medoids_of(const Sorted &values, size_t count) {
  const std::vector<size_t> candidates = values.candidates();
  Medoids medoids = build(values, candidates, count);
  swap(values, candidates, medoids);
  settle(values, medoids);
  return medoids;
}

// The starts of the clusters of these means, and the end of the last cluster; a cluster may be empty.
std::vector<size_t> borders_of(const Sorted &values, const std::vector<double> &means) {
  std::vector<size_t> borders = {0};
  for (size_t i = 1; i < means.size(); ++i)
    borders.push_back(std::max(borders.back(), values.first_after(means[i - 1] + (means[i] - means[i - 1]) / 2)));
  borders.push_back(values.size());
  return borders;
}

// Lloyd's algorithm (k-means), starting with the middles of ranges of equal length.
std::vector<double> means_of(const Sorted &values, size_t count) {
  std::vector<double> means;
  for (size_t i = 0; i < count; ++i) {
    const auto part = [&](size_t number) { return number * values.size() / count; };
    means.push_back(values[values.middle(part(i), part(i + 1))]);
  }
  for (size_t round = 0; round < kMaxRounds; ++round) {
    const std::vector<size_t> borders = borders_of(values, means);
    std::vector<double> moved;
    for (size_t i = 0; i < means.size(); ++i)
      if (borders[i] < borders[i + 1]) moved.push_back(values.mean(borders[i], borders[i + 1]));
    if (moved == means) break;
    means = std::move(moved);
  }
  return means;
}

}  // namespace

Clusters clusters_of(const std::vector<double> &values, size_t count, Clustering clustering) {
  Clusters clusters;
  if (values.empty()) return clusters;
  const Sorted sorted(values);
  count = std::min(count, sorted.size());
  std::vector<size_t> borders;
  if (clustering == Clustering::pam) {
    const Medoids medoids = medoids_of(sorted, count);
    borders = borders_of(sorted, medoids);
    for (const size_t medoid : medoids) clusters.centres.push_back(sorted[medoid]);
    clusters.cost = cost_of(sorted, medoids);
  } else {
    clusters.centres = means_of(sorted, count);
    borders = borders_of(sorted, clusters.centres);
    for (size_t i = 0; i + 1 < borders.size(); ++i) clusters.cost += sorted.squares(borders[i], borders[i + 1]);
  }
  std::vector<double> ends;  // the last value of each cluster except the last cluster
  for (size_t i = 1; i + 1 < borders.size(); ++i) ends.push_back(sorted[borders[i] - 1]);
  clusters.of_value.reserve(values.size());
  for (const double value : values)
    clusters.of_value.push_back(static_cast<uint8_t>(std::lower_bound(ends.begin(), ends.end(), value) - ends.begin()));
  return clusters;
}

}  // namespace atalaya::jobs
