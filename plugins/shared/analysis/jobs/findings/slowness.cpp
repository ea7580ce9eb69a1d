// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/findings/slowness.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"

namespace atalaya::jobs {
namespace {

constexpr size_t kMinToCompare = 3;  // minimum tasks or phases of a host, and of the other hosts
constexpr double kSameSpeed = 0.1;   // smaller differences of medians are noise

// Equal pieces of work on the hosts: the tasks of a stage, or one of their phases.
struct Pieces {
  std::vector<double> times, rates;  // rates: time per byte, of those with bytes

  void add(double time, int64_t bytes) {
    times.push_back(time);
    if (bytes > 0) rates.push_back(time / static_cast<double>(bytes));
  }
  bool have_bytes() const { return rates.size() == times.size(); }
};
using ByHost = std::map<uint32_t, Pieces>;

struct Ratio {
  double value = 1;
  bool has_bytes = false;
};

// The lower median of the hosts' medians, so that each host has the same weight.
double usual(const ByHost &hosts, std::vector<double> Pieces::*values) {
  std::vector<double> medians;
  for (const auto &[host, pieces] : hosts)
    if (!(pieces.*values).empty()) medians.push_back(evidence::median(pieces.*values));
  if (medians.empty()) return 0;
  return evidence::at_rank(medians, (medians.size() - 1) / 2);
}

size_t others_count(const ByHost &hosts, uint32_t own, std::vector<double> Pieces::*values) {
  size_t count = 0;
  for (const auto &[host, pieces] : hosts)
    if (host != own) count += (pieces.*values).size();
  return count;
}

// Of all hosts; computed once for all comparisons with them.
struct Usual {
  explicit Usual(const ByHost &hosts) : time(usual(hosts, &Pieces::times)), rate(usual(hosts, &Pieces::rates)) {}
  double time = 0, rate = 0;
};

// A host's median divided by the usual one; nothing if the other hosts have too few values. Uses times or times per byte, whichever
// differs less, because a host with more bytes per task is not slower.
std::optional<Ratio> ratio_of(const ByHost &hosts, uint32_t host, const Usual &usual) {
  const Pieces &own = hosts.at(host);
  if (usual.time <= 0 || others_count(hosts, host, &Pieces::times) < kMinToCompare) return std::nullopt;
  Ratio ratio{evidence::median(own.times) / usual.time,
              own.have_bytes() && others_count(hosts, host, &Pieces::rates) >= kMinToCompare};
  if (ratio.value > 1 && ratio.has_bytes && usual.rate > 0)
    ratio.value = std::clamp(evidence::median(own.rates) / usual.rate, 1.0, ratio.value);
  return ratio;
}

bool is_slow(double factor) {
  return factor > 1 + kSameSpeed;
}

enum class Kind : uint8_t { cpu, disk, network };

Kind kind_of(const JobData &data, const Phase &phase) {
  const Needs needs = needs_of(data.name(phase.phase));
  const bool is_remote =
      phase.work.bytes > 0 && 2 * static_cast<double>(phase.work.remote) >= static_cast<double>(phase.work.bytes);
  if (needs.network || is_remote) return Kind::network;
  return needs.reads || needs.writes ? Kind::disk : Kind::cpu;
}

class Finder {
 public:
  Finder(const JobTasks &tasks, const JobStages &stages, const std::vector<int64_t> &times)
      : tasks_(tasks), stages_(stages), times_(times) {
    for (const uint32_t i : tasks.order())
      if (tasks.task(i).has_ended_well())
        hosts_[stages.number_of_stage(tasks.task(i))][tasks.task(i).host].add(static_cast<double>(times[i]),
                                                                              tasks.task(i).work.bytes);
  }

  Slowness find() {
    add_compared();
    add_few();
    add_by_kind();
    std::erase_if(found_.of_stage, [](const auto &entry) { return std::abs(entry.second - 1) <= kSameSpeed; });
    return std::move(found_);
  }

 private:
  // Stages in which the host ran enough tasks.
  void add_compared() {
    std::map<uint32_t, std::vector<double>> of_host;
    for (const auto &[stage, hosts] : hosts_) {
      const Usual &usual = usual_of_stage_.emplace(stage, hosts).first->second;
      for (const auto &[host, own] : hosts) {
        const auto ratio = ratio_of(hosts, host, usual);
        if (!ratio || own.times.size() < kMinToCompare || ratio->value <= 0) continue;
        of_host[host].push_back(ratio->value);
        found_.of_stage[{host, stage}] = ratio->value;
      }
    }
    for (const auto &[host, values] : of_host) {
      usual_[host] = evidence::median(values);
      found_.maximum[host] = *std::max_element(values.begin(), values.end());
    }
  }

  // Adds the stages in which a slow host ran only a few tasks. If the bytes are unknown, the work of these tasks may differ, so
  // their slowness is at most that of the host's other stages.
  void add_few() {
    for (const auto &[host, factor] : usual_) {
      if (!is_slow(factor)) continue;
      for (const auto &[stage, hosts] : hosts_) {
        const auto own = hosts.find(host);
        if (own == hosts.end() || own->second.times.size() >= kMinToCompare) continue;
        const auto ratio = ratio_of(hosts, host, usual_of_stage_.at(stage));
        if (ratio && ratio->value > 1)
          found_.of_stage[{host, stage}] = ratio->has_bytes ? ratio->value : std::min(ratio->value, factor);
      }
    }
  }

  // If the other hosts ran too few tasks of a stage, a host is assumed to be as slow as in phases of other stages that use the same
  // resource.
  void add_by_kind() {
    std::map<std::pair<uint32_t, uint32_t>, std::pair<double, double>>
        sums;                          // by host and stage: recorded time, and time at usual speed
    std::map<uint32_t, double> saved;  // by task: saved time
    const auto factors = kinds();
    for (const Phase &phase : tasks_.data().phases) {
      if (!tasks_.has(phase.task)) continue;
      const auto factor = factors.find({tasks_.task(phase.task).host, kind_of(tasks_.data(), phase)});
      if (factor != factors.end() && is_slow(factor->second))
        saved[phase.task] += static_cast<double>(tasks_.busy(phase)) * (1 - 1 / factor->second);
    }
    for (const uint32_t i : tasks_.order()) {
      const std::pair place{tasks_.task(i).host, stages_.number_of_stage(tasks_.task(i))};
      const auto hosts = hosts_.find(place.second);
      const bool is_alone = hosts != hosts_.end() && hosts->second.contains(place.first) &&
                            others_count(hosts->second, place.first, &Pieces::times) < kMinToCompare;
      if (!is_alone) continue;
      const auto time = static_cast<double>(times_[i]);
      auto &[recorded, at_usual_speed] = sums[place];
      recorded += time;
      at_usual_speed += std::max(time - saved[i], time / worst_of(factors, place.first));
    }
    for (const auto &[place, sum] : sums)
      if (sum.second > 0) found_.of_stage[place] = sum.first / sum.second;
  }

  using Kinds = std::map<std::pair<uint32_t, Kind>, double>;

  // Phases may overlap: the sum of their savings is limited to the saving if the complete task were in the slowest phase.
  static double worst_of(const Kinds &factors, uint32_t host) {
    double worst = 1;
    for (const auto &[place, factor] : factors)
      if (place.first == host) worst = std::max(worst, factor);
    return worst;
  }

  // By host and resource: the time in such phases, divided by the time at usual speed.
  Kinds kinds() const {
    std::map<std::tuple<Kind, uint32_t, uint32_t>, ByHost> phases;  // by stage and name
    for (const Phase &phase : tasks_.data().phases) {
      if (!tasks_.has(phase.task) || !tasks_.task(phase.task).has_ended_well()) continue;
      const Task &task = tasks_.task(phase.task);
      const int64_t busy = std::min(tasks_.busy(phase), times_[phase.task]);
      if (busy > 0)
        phases[{kind_of(tasks_.data(), phase), stages_.number_of_stage(task), phase.phase}][task.host].add(
            static_cast<double>(busy), phase.work.bytes);
    }
    struct Sum {
      double recorded = 0, at_usual_speed = 0;
      size_t count = 0;
    };
    std::map<std::pair<uint32_t, Kind>, Sum> sums;
    for (const auto &[place, hosts] : phases) {
      const Usual usual(hosts);
      for (const auto &[host, own] : hosts) {
        const auto ratio = ratio_of(hosts, host, usual);
        if (!ratio || ratio->value <= 0) continue;
        Sum &sum = sums[{host, std::get<Kind>(place)}];
        for (const double time : own.times) {
          sum.recorded += time;
          sum.at_usual_speed += time / ratio->value;
        }
        sum.count += own.times.size();
      }
    }
    Kinds found;
    for (const auto &[place, sum] : sums)
      if (sum.count >= kMinToCompare) found[place] = sum.recorded / sum.at_usual_speed;
    return found;
  }

  const JobTasks &tasks_;
  const JobStages &stages_;
  const std::vector<int64_t> &times_;
  std::map<uint32_t, ByHost> hosts_;  // by stage
  std::map<uint32_t, Usual> usual_of_stage_;
  std::map<uint32_t, double> usual_;  // by host: its slowness in stages with enough tasks
  Slowness found_;
};

}  // namespace

Slowness slowness_of(const JobTasks &tasks, const JobStages &stages, const std::vector<int64_t> &times) {
  return Finder(tasks, stages, times).find();
}

}  // namespace atalaya::jobs
