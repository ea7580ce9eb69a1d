// SPDX-License-Identifier: Apache-2.0
#include "plugins/bottleneck/detect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "plugins/bottleneck/statistics.h"

namespace atalaya::bottleneck {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kChance = 0.01;      // of a false verdict on a job, all that is looked at together
constexpr double kWorthwhile = 0.05;  // of the tasks' time: a phase that loses less does not matter
constexpr double kLeastNoise = 0.02;  // relative: clocks and counters are no better

using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // job, stage, phase

double speed_of(int64_t bytes, int64_t time_ns) {
  return static_cast<double>(bytes) / 1024 / (static_cast<double>(time_ns) / 1e9);
}

Grade grade_of(size_t cluster, size_t clusters) {
  if (clusters == 1) return Grade::medium;
  const double place = static_cast<double>(cluster) * (kGrades - 1) / static_cast<double>(clusters - 1);
  return static_cast<Grade>(std::lround(place));
}

void set_grades(Group &group, Clustering clustering) {
  std::vector<double> speeds;
  speeds.reserve(group.entries.size());
  for (const Entry &entry : group.entries) speeds.push_back(entry.speed);
  const Clusters clusters = clusters_of(speeds, kGrades, clustering);
  for (size_t i = 0; i < group.entries.size(); ++i)
    group.entries[i].grade = grade_of(clusters.of_value[i], clusters.centres.size());
  group.speed = median(std::move(speeds));
}

class Groups {
 public:
  explicit Groups(const Told &told) : told_(told) {}

  void add_tasks() {
    for (uint32_t i = 0; i < told_.tasks.size(); ++i) {
      const Task &task = told_.tasks[i];
      if (!task.is_done()) continue;
      Group &group = of({task.job, task.stage, 0});
      first_start(group, task.work.start_ns);
      add(group, i, task.work.start_ns, task.work.duration_ns, task.work.bytes);
    }
  }
  void add_phases() {
    for (const Phase &phase : told_.phases)
      if (phase.work.bytes == kUnknown && is_done(phase)) of(key_of(phase)).bytes_of_task = true;
    for (const Phase &phase : told_.phases) {
      if (!is_done(phase)) continue;
      const Task &task = told_.tasks[phase.task];
      Group &group = of(key_of(phase));
      group.offset_ns += static_cast<double>(phase.work.start_ns - task.work.start_ns);
      ++counts_[&group];
      group.is_remote = group.is_remote || phase.work.remote > 0;
      add(group, phase.task, phase.work.start_ns, phase.busy_ns, group.bytes_of_task ? task.work.bytes : phase.work.bytes);
    }
  }
  std::vector<Group> take() {
    std::vector<Group> all;
    for (auto &[key, group] : groups_) {
      if (group.phase != 0) group.offset_ns /= static_cast<double>(counts_[&group]);
      all.push_back(std::move(group));
    }
    std::stable_sort(all.begin(), all.end(), [&](const Group &a, const Group &b) { return place_of(a) < place_of(b); });
    return all;
  }

 private:
  bool is_done(const Phase &phase) const { return phase.busy_ns > 0 && told_.tasks[phase.task].is_done(); }
  Key key_of(const Phase &phase) const {
    const Task &task = told_.tasks[phase.task];
    return {task.job, task.stage, phase.phase};
  }
  Group &of(const Key &key) {
    const auto [found, is_new] = groups_.try_emplace(key);
    if (is_new) std::tie(found->second.job, found->second.stage, found->second.phase) = key;
    return found->second;
  }
  void first_start(const Group &group, int64_t start_ns) {
    const auto [first, is_new] = starts_.try_emplace({group.job, group.stage}, start_ns);
    first->second = std::min(first->second, start_ns);
  }
  // Nothing moved, nothing is slow.
  static void add(Group &group, uint32_t task, int64_t start_ns, int64_t time_ns, int64_t bytes) {
    if (bytes > 0)
      group.entries.push_back({task, Grade::medium, start_ns, time_ns, bytes, speed_of(bytes, time_ns)});
    else
      ++group.without_speed;
  }
  std::tuple<uint32_t, int64_t, uint32_t, bool, double> place_of(const Group &group) const {
    const auto start = starts_.find({group.job, group.stage});
    return {group.job, start == starts_.end() ? 0 : start->second, group.stage, group.phase != 0, group.offset_ns};
  }

  const Told &told_;
  std::map<Key, Group> groups_;
  std::map<const Group *, size_t> counts_;
  std::map<std::pair<uint32_t, uint32_t>, int64_t> starts_;
};

// Logarithms of speeds by node: what a node costs is a factor.
struct Logs {
  std::vector<double> all;
  double sum = 0;
};

struct Noise {
  double deviation = 0;  // within nodes
  double degrees = 0;
};

Noise noise_of(const std::map<uint32_t, Logs> &logs, size_t tasks) {
  double squares = 0;
  for (const auto &[host, own] : logs) {
    const double mean = own.sum / static_cast<double>(own.all.size());
    for (const double value : own.all) squares += (value - mean) * (value - mean);
  }
  const double degrees = static_cast<double>(tasks) - static_cast<double>(logs.size());
  return {degrees > 0 ? std::max(std::sqrt(squares / degrees), kLeastNoise) : 0, degrees};
}

double median_of_others(const Group &group, const Told &told, uint32_t host) {
  std::vector<double> speeds;
  for (const Entry &entry : group.entries)
    if (told.tasks[entry.task].host != host) speeds.push_back(entry.speed);
  return median(std::move(speeds));
}

// Medians of all but one node, for each of them: a node of many hardly moves it, and to sort all for each would take too long.
constexpr size_t kMostExact = 64;

// Healthy nodes differ, too: one that is not clearly further below the others than these lie apart is as slow as by chance. How far
// they do is measured without what lies below their middle by much: another slow node must not hide this one.
bool is_among(const NodeSpeed &node, const std::vector<double> &others) {
  constexpr double kDeviations = 2.5, kAbove = 2;
  constexpr size_t kFewestOthers = 2;
  if (others.size() < kFewestOthers) return false;
  const double middle = median(others), below = middle - std::log(node.speed);
  const double above = *std::max_element(others.begin(), others.end()) - middle;
  return below < kDeviations * robust_deviation(others, middle) || below < kAbove * above;
}

void forgive(std::map<uint32_t, NodeSpeed> &nodes) {
  std::vector<double> all;
  all.reserve(nodes.size());
  for (const auto &[host, node] : nodes) all.push_back(std::log(node.speed));
  size_t place = 0;
  for (auto &[host, node] : nodes) {
    std::vector<double> others;
    if (nodes.size() <= kMostExact) {
      others = all;
      others.erase(others.begin() + static_cast<ptrdiff_t>(place));
    }
    ++place;
    if (node.chance < kChance && is_among(node, nodes.size() <= kMostExact ? others : all)) node.chance = 1;
  }
}

void compare(Group &group, const Told &told) {
  std::map<uint32_t, Logs> logs;
  double sum = 0;
  for (const Entry &entry : group.entries) {
    Logs &own = logs[told.tasks[entry.task].host];
    own.all.push_back(std::log(entry.speed));
    own.sum += own.all.back();
    sum += own.all.back();
  }
  const size_t tasks = group.entries.size();
  const Noise noise = noise_of(logs, tasks);
  std::map<uint32_t, NodeSpeed> nodes;
  for (auto &[host, own] : logs) {
    NodeSpeed &node = nodes[host];
    node.host = host;
    node.tasks = own.all.size();
    node.speed = std::exp(median(own.all));
    node.others = tasks == node.tasks ? kNone : logs.size() > kMostExact ? group.speed : median_of_others(group, told, host);
    if (tasks == node.tasks || noise.degrees <= 0) continue;
    const auto count = static_cast<double>(node.tasks), rest = static_cast<double>(tasks - node.tasks);
    const double difference = (sum - own.sum) / rest - own.sum / count;
    node.chance = student_tail(difference / (noise.deviation * std::sqrt(1 / count + 1 / rest)), noise.degrees);
  }
  forgive(nodes);
  std::map<uint32_t, std::pair<double, double>> times;  // needed at the others' speed, and taken
  for (const Entry &entry : group.entries) {
    NodeSpeed &node = nodes[told.tasks[entry.task].host];
    node.lowest += entry.grade == Grade::lowest ? 1 : 0;
    node.lower += entry.grade == Grade::lower ? 1 : 0;
    auto &[lost, taken] = times[node.host];
    lost += static_cast<double>(entry.time_ns) * (1 - entry.speed / node.others);
    taken += static_cast<double>(told.tasks[entry.task].work.duration_ns);
  }
  for (auto &[host, node] : nodes) {
    node.lost = times[host].first / times[host].second;
    group.nodes.push_back(node);
  }
  std::sort(group.nodes.begin(), group.nodes.end(),
            [&](const NodeSpeed &a, const NodeSpeed &b) { return told.name(a.host) < told.name(b.host); });
}

}  // namespace

std::string_view grade_text(Grade grade) {
  constexpr std::array<std::string_view, kGrades> kTexts = {"lowest", "lower", "medium", "higher", "highest"};
  return kTexts[static_cast<size_t>(grade)];
}

std::vector<Group> grade(const Told &told, const DetectOptions &options, query::Budget &budget) {
  Groups groups(told);
  groups.add_tasks();
  groups.add_phases();
  std::vector<Group> all = groups.take();
  for (Group &group : all) {
    budget.check_time();
    if (group.entries.empty()) continue;
    set_grades(group, options.clustering);
    compare(group, told);
  }
  return all;
}

std::string why_no_verdict(const Group &group) {
  const std::string tasks = std::to_string(group.entries.size()) + (group.entries.size() == 1 ? " task" : " tasks");
  if (group.entries.size() < kFewestTasks)
    return tasks + " with a known speed are too few to tell a slow node from chance (" + std::to_string(kFewestTasks) +
           " are needed)";
  if (group.nodes.size() < 2) return "all " + tasks + " ran on one node: there is none to compare it with";
  const auto enough = [](const NodeSpeed &node) { return node.tasks >= kFewestOfNode; };
  if (std::none_of(group.nodes.begin(), group.nodes.end(), enough))
    return "no node ran " + std::to_string(kFewestOfNode) + " of its " + tasks + ": too few to tell a slow node from chance";
  return "";
}

bool is_slow(const Group &group, const NodeSpeed &node, const DetectOptions &options, size_t looked_at) {
  if (!why_no_verdict(group).empty() || node.tasks < kFewestOfNode || node.tasks == group.entries.size()) return false;
  if (node.lowest + node.lower == 0) return false;  // the algorithm's own condition
  return node.slower() >= options.least && node.lost >= kWorthwhile && node.chance * static_cast<double>(looked_at) <= kChance;
}

}  // namespace atalaya::bottleneck
