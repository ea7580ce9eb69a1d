// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/findings/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "plugins/shared/analysis/evidence/statistics.h"

namespace atalaya::jobs {
namespace {

constexpr double kMinNoise = 0.02;  // relative precision of clocks and counters

// Tasks of one node and wave. Speeds are compared as logarithms, because the effect of a node is a factor.
struct Cell {
  double sum = 0, squares = 0;
  std::vector<double> logs;  // ascending
  double count() const { return static_cast<double>(logs.size()); }
  double mean() const { return sum / count(); }
  void add(double log) {
    sum += log;
    squares += log * log;
    logs.push_back(log);
  }
  double up_to(double log) const { return static_cast<double>(std::upper_bound(logs.begin(), logs.end(), log) - logs.begin()); }
};

using Cells = std::array<Cell, kWaves>;

struct Own {
  NodeSpeed node;
  Cells cells;
  double mean = 0;               // mean without the effect of waves
  double needed = 0, taken = 0;  // time needed at the speed of the other nodes, and actual time
};

double median_of(const std::vector<double> &ascending) {
  const size_t size = ascending.size();
  return size == 0 ? evidence::kNone : (ascending[(size - 1) / 2] + ascending[size / 2]) / 2;
}

// The minimum slowness of a slow node. Speeds of healthy nodes differ by about 8 %, so a node must be slower by more than this, or
// by more than the other nodes differ from each other.
evidence::Prior healthy_nodes(double minimum) {
  constexpr double kPart = 0.4, kNodes = 16;
  return {kPart * minimum, kNodes};
}

class Comparison {
 public:
  Comparison(Group &group, const JobData &data) : group_(group), data_(data) {
    std::unordered_map<uint32_t, uint32_t> places;
    places_.reserve(group.entries.size());
    for (const Entry &entry : group.entries) {
      const uint32_t host = data.tasks[entry.task].host;
      const auto [place, is_new] = places.try_emplace(host, static_cast<uint32_t>(nodes_.size()));
      if (is_new) nodes_.emplace_back().node.host = host;
      places_.push_back(place->second);
      add(nodes_[place->second], entry);
    }
    for (Own &own : nodes_)
      for (Cell &cell : own.cells) std::sort(cell.logs.begin(), cell.logs.end());
    for (Cell &cell : all_) {
      std::sort(cell.logs.begin(), cell.logs.end());
      const auto known = static_cast<ptrdiff_t>(logs_.size());
      logs_.insert(logs_.end(), cell.logs.begin(), cell.logs.end());
      std::inplace_merge(logs_.begin(), logs_.begin() + known, logs_.end());
    }
  }

  void compare(double minimum) {
    fit_waves();
    const double noise = deviation();
    for (Own &own : nodes_) {
      set_medians(own);
      if (noise > 0) own.node.chance = chance_of(own, noise);
    }
    raise_usual_chances(healthy_nodes(minimum));
    set_lost();
    for (const Own &own : nodes_) group_.nodes.push_back(own.node);
    std::sort(group_.nodes.begin(), group_.nodes.end(),
              [&](const NodeSpeed &a, const NodeSpeed &b) { return data_.name(a.host) < data_.name(b.host); });
  }

 private:
  void add(Own &own, const Entry &entry) {
    const double log = std::log(entry.speed);
    const auto wave = static_cast<size_t>(entry.wave);
    own.cells[wave].add(log);
    all_[wave].add(log);
    ++own.node.tasks;
    own.node.lowest += entry.grade == Grade::lowest ? 1 : 0;
    own.node.lower += entry.grade == Grade::lower ? 1 : 0;
  }

  // The effects of nodes and waves on the speed: computes the means of both alternately, until they converge.
  void fit_waves() {
    constexpr int kMaxSteps = 100;
    constexpr double kStill = 1e-9;
    double moved = 1;
    for (int round = 0; round < kMaxSteps && moved > kStill; ++round) {
      moved = 0;
      for (Own &own : nodes_) {
        double rest = 0;
        for (size_t wave = 0; wave < kWaves; ++wave) rest += own.cells[wave].sum - own.cells[wave].count() * of_wave_[wave];
        own.mean = rest / static_cast<double>(own.node.tasks);
      }
      for (size_t wave = 0; wave < kWaves; ++wave) {
        if (all_[wave].logs.empty()) continue;
        double rest = all_[wave].sum;
        for (const Own &own : nodes_) rest -= own.cells[wave].count() * own.mean;
        moved = std::max(moved, std::abs(rest / all_[wave].count() - of_wave_[wave]));
        of_wave_[wave] = rest / all_[wave].count();
      }
    }
  }

  // Variance of the speeds within nodes and waves; 0 if there are too few tasks.
  double deviation() {
    double squares = 0;
    for (const Own &own : nodes_)
      for (size_t wave = 0; wave < kWaves; ++wave) {
        const Cell &cell = own.cells[wave];
        const double mean = own.mean + of_wave_[wave];
        squares += cell.squares - 2 * mean * cell.sum + cell.count() * mean * mean;
      }
    const auto waves = std::count_if(all_.begin(), all_.end(), [](const Cell &cell) { return !cell.logs.empty(); });
    degrees_ = static_cast<double>(group_.entries.size() - nodes_.size()) - static_cast<double>(waves - 1);
    return degrees_ > 0 ? std::max(std::sqrt(std::max(squares, 0.0) / degrees_), kMinNoise) : 0;
  }

  // Student's t-test of the difference between the node and the others, in the waves that both have.
  double chance_of(const Own &own, double noise) const {
    double difference = 0, weights = 0;
    for (size_t wave = 0; wave < kWaves; ++wave) {
      const Cell &cell = own.cells[wave];
      const double count = cell.count(), others = all_[wave].count() - count;
      if (count == 0 || others == 0) continue;
      const double weight = 1 / (1 / count + 1 / others);
      difference += weight * ((all_[wave].sum - cell.sum) / others - cell.mean());
      weights += weight;
    }
    return weights > 0 ? evidence::student_tail(difference / weights / (noise / std::sqrt(weights)), degrees_) : 1;
  }

  void set_medians(Own &own) const {
    std::vector<double> logs;
    logs.reserve(own.node.tasks);
    for (const Cell &cell : own.cells) logs.insert(logs.end(), cell.logs.begin(), cell.logs.end());
    own.node.speed = std::exp(evidence::median(std::move(logs)));
    own.node.others = own.node.tasks == logs_.size() ? evidence::kNone : std::exp(others_median(own.cells));
  }

  // The speed of the others, weighted by the waves of the node.
  double others_median(const Cells &own) const {
    std::array<double, kWaves> weights{};
    bool any = false;
    for (size_t wave = 0; wave < kWaves; ++wave) {
      const double others = all_[wave].count() - own[wave].count();
      if (others > 0) weights[wave] = own[wave].count() / others;
      any = any || weights[wave] > 0;
    }
    if (!any) weights.fill(1);
    const auto up_to = [&](double log) {
      double sum = 0;
      for (size_t wave = 0; wave < kWaves; ++wave)
        if (weights[wave] > 0) sum += weights[wave] * (all_[wave].up_to(log) - own[wave].up_to(log));
      return sum;
    };
    const double half = up_to(logs_.back()) / 2, rounding = half * 1e-9;
    const auto first = [&](double minimum) {
      return *std::partition_point(logs_.begin(), logs_.end(), [&](double log) { return up_to(log) < minimum; });
    };
    return (first(half - rounding) + first(half + rounding)) / 2;
  }

  // Raises the p-value of each node whose slowness is within the usual range of healthy nodes.
  void raise_usual_chances(evidence::Prior healthy) {
    std::vector<double> all;  // logarithms of speeds, corrected to the most frequent wave
    all.reserve(nodes_.size());
    for (const Own &own : nodes_) {
      double of_waves = 0;
      for (size_t wave = 0; wave < kWaves; ++wave)
        if (!own.cells[wave].logs.empty())
          of_waves += own.cells[wave].count() / static_cast<double>(own.node.tasks) * median_of(all_[wave].logs);
      all.push_back(std::log(own.node.speed) - of_waves);
    }
    const std::vector<double> chances = evidence::chances_below(all, std::max<size_t>(1, (all.size() - 1) / 2), healthy);
    for (size_t place = 0; place < nodes_.size(); ++place)
      nodes_[place].node.chance = std::max(nodes_[place].node.chance, chances[place]);
  }

  void set_lost() {
    for (size_t i = 0; i < places_.size(); ++i) {
      Own &own = nodes_[places_[i]];
      const Entry &entry = group_.entries[i];
      own.needed += static_cast<double>(entry.time_ns) * (1 - entry.speed / own.node.others);
      own.taken += static_cast<double>(data_.tasks[entry.task].work.duration_ns);
    }
    for (Own &own : nodes_) own.node.lost = own.needed / own.taken;
  }

  Group &group_;
  const JobData &data_;
  std::vector<Own> nodes_;
  std::vector<uint32_t> places_;  // by entry: position of its node
  Cells all_;
  std::vector<double> logs_;  // logarithms of all speeds, ascending
  std::array<double, kWaves> of_wave_{};
  double degrees_ = 0;
};

}  // namespace

void compare_nodes(Group &group, const JobData &data, double minimum) {
  Comparison(group, data).compare(minimum);
}

}  // namespace atalaya::jobs
