// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/findings/detect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/findings/compare.h"
#include "plugins/shared/analysis/jobs/model/map_phase_ends.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"

namespace atalaya::jobs {
namespace {

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
  group.speed = evidence::median(std::move(speeds));
}

class Groups {
 public:
  Groups(const JobData &data, const MapPhaseEnds &ends) : data_(data), ends_(ends) {}

  void add_tasks() {
    for (uint32_t i = 0; i < data_.tasks.size(); ++i) {
      const Task &task = data_.tasks[i];
      if (!task.has_ended_well()) continue;
      Group &group = of({task.job, task.stage, 0});
      if (task.work.duration_ns == 0) {
        ++group.without_speed;
        continue;
      }
      first_start(group, task.work.start_ns);
      const int64_t begin = ends_.begin(task);
      add(group, i, begin, task.work.end_ns() - begin, task.work.bytes);
    }
  }
  void add_phases() {
    for (const Phase &phase : data_.phases)
      if (is_done(phase) && phase.work.bytes != kUnknown) of(key_of(phase)).task_bytes = false;
    for (const Phase &phase : data_.phases) {
      if (!is_done(phase)) continue;
      const Task &task = data_.tasks[phase.task];
      Group &group = of(key_of(phase));
      group.offset_ns += static_cast<double>(phase.work.start_ns - task.work.start_ns);
      ++counts_[&group];
      group.is_remote = group.is_remote || phase.work.remote > 0;
      const int64_t begin = needs_of(data_.name(phase.phase)).network ? ends_.begin(task, phase.work.start_ns, phase.work.end_ns())
                                                                      : phase.work.start_ns;
      add(group, phase.task, begin, std::min(phase.busy_ns, phase.work.end_ns() - begin),
          group.task_bytes ? task.work.bytes : phase.work.bytes);
    }
  }
  std::vector<Group> take() {
    std::vector<Group> all;
    for (auto &[key, group] : groups_) {
      finish(group);
      if (group.phase != 0) group.offset_ns /= static_cast<double>(counts_[&group]);
      all.push_back(std::move(group));
    }
    std::stable_sort(all.begin(), all.end(), [&](const Group &a, const Group &b) { return place_of(a) < place_of(b); });
    return all;
  }

 private:
  bool is_done(const Phase &phase) const { return phase.busy_ns > 0 && data_.tasks[phase.task].is_done(); }
  Key key_of(const Phase &phase) const {
    const Task &task = data_.tasks[phase.task];
    return {task.job, task.stage, phase.phase};
  }
  Group &of(const Key &key) {
    const auto [found, is_new] = groups_.try_emplace(key);
    Group &group = found->second;
    if (!is_new) return group;
    std::tie(group.job, group.stage, group.phase) = key;
    group.task_bytes = group.phase != 0;  // until a task reports the bytes of the phase
    return group;
  }
  void first_start(const Group &group, int64_t start_ns) {
    const auto [first, is_new] = starts_.try_emplace({group.job, group.stage}, start_ns);
    first->second = std::min(first->second, start_ns);
  }
  // A task without bytes has no speed (0).
  static void add(Group &group, uint32_t task, int64_t start_ns, int64_t time_ns, int64_t bytes) {
    group.entries.push_back({task, Grade::medium, Wave::first, start_ns, time_ns, bytes, bytes > 0 ? speed_of(bytes, time_ns) : 0});
  }
  // If no task has bytes, all tasks are assumed to have equal work; otherwise tasks without bytes have no speed.
  static void finish(Group &group) {
    std::vector<double> times;
    for (const Entry &entry : group.entries) times.push_back(static_cast<double>(entry.time_ns) / 1e9);
    group.seconds = evidence::median(std::move(times));
    const auto is_silent = [](const Entry &entry) { return entry.speed == 0; };
    group.by_time = !group.entries.empty() && std::all_of(group.entries.begin(), group.entries.end(), is_silent);
    if (group.by_time)
      for (Entry &entry : group.entries) entry.speed = 1e9 / static_cast<double>(entry.time_ns);
    else
      group.without_speed += std::erase_if(group.entries, is_silent);
  }
  std::tuple<uint32_t, int64_t, uint32_t, bool, double> place_of(const Group &group) const {
    const auto start = starts_.find({group.job, group.stage});
    return {group.job, start == starts_.end() ? 0 : start->second, group.stage, group.phase != 0, group.offset_ns};
  }

  const JobData &data_;
  const MapPhaseEnds &ends_;
  std::map<Key, Group> groups_;
  std::map<const Group *, size_t> counts_;
  std::map<std::pair<uint32_t, uint32_t>, int64_t> starts_;
};

// The wave of each task: `first` on its host, because a program that has just started is slow; `later`; or `early` for a reduce
// task that starts before the maps end, because it does not work while it waits.
std::vector<Wave> waves_of(const JobData &data, const std::vector<Group> &groups, const MapPhaseEnds &ends) {
  std::vector<Wave> waves(data.tasks.size(), Wave::first);
  std::unordered_map<uint32_t, int64_t> first_end;  // by host
  for (const Group &group : groups) {
    if (group.phase != 0) continue;
    first_end.clear();
    for (const Entry &entry : group.entries) {
      const Work &work = data.tasks[entry.task].work;
      const auto [end, is_new] = first_end.try_emplace(data.tasks[entry.task].host, work.end_ns());
      end->second = std::min(end->second, work.end_ns());
    }
    for (const Entry &entry : group.entries) {
      const Task &task = data.tasks[entry.task];
      if (task.work.start_ns >= first_end[task.host]) waves[entry.task] = Wave::later;
      if (ends.starts_before_map_end(task)) waves[entry.task] = Wave::early;
    }
  }
  return waves;
}

}  // namespace

std::string_view grade_text(Grade grade) {
  constexpr std::array<std::string_view, kGrades> kTexts = {"lowest", "lower", "medium", "higher", "highest"};
  return kTexts[static_cast<size_t>(grade)];
}

std::vector<Group> grade(const JobData &data, const DetectOptions &options, query::Budget &budget) {
  const MapPhaseEnds ends(data);
  Groups groups(data, ends);
  groups.add_tasks();
  groups.add_phases();
  std::vector<Group> all = groups.take();
  const std::vector<Wave> waves = waves_of(data, all, ends);
  for (Group &group : all) {
    budget.check_time();
    if (group.entries.empty()) continue;
    for (Entry &entry : group.entries) entry.wave = waves[entry.task];
    set_grades(group, options.clustering);
    compare_nodes(group, data, options.minimum);
  }
  return all;
}

std::string why_no_verdict(const Group &group) {
  const std::string tasks = std::to_string(group.entries.size()) + (group.entries.size() == 1 ? " task" : " tasks");
  if (group.entries.size() < kMinTasks)
    return tasks + " with a known speed are too few to distinguish a slow node from chance (" + std::to_string(kMinTasks) +
           " needed)";
  if (group.nodes.size() < 2) return "all " + tasks + " ran on one node: no other node to compare with";
  const auto enough = [](const NodeSpeed &node) { return node.tasks >= kMinNodeTasks; };
  if (std::none_of(group.nodes.begin(), group.nodes.end(), enough))
    return "no node ran " + std::to_string(kMinNodeTasks) + " of its " + tasks + ": too few to distinguish a slow node from chance";
  return "";
}

std::string speed_text(const Group &group, double speed) {
  return group.by_time ? short_text(1 / speed) + " s per task" : short_text(speed) + " KiB/s";
}

bool is_slow(const Group &group, const NodeSpeed &node, const DetectOptions &options, size_t checked_at) {
  if (!why_no_verdict(group).empty() || node.tasks < kMinNodeTasks || node.tasks == group.entries.size()) return false;
  if (node.lowest + node.lower == 0) return false;  // required by the algorithm
  return node.slower() >= options.minimum && node.lost >= kWorthwhile && evidence::is_beyond_chance(node.chance, checked_at);
}

}  // namespace atalaya::jobs
