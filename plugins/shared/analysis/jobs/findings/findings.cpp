// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/findings/findings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/model/map_phase_ends.h"

namespace atalaya::jobs {
namespace {

constexpr double kMuchSlower = 3;    // a single task needs at least this multiple of the time at the stage's median speed
constexpr double kMinLostNs = 10e9;  // short pauses of hosts regularly cost some seconds
constexpr double kFarAway = 3.5;     // minimum distance in robust deviations; more for many tasks, because some deviate by chance
constexpr double kMaxTotal = 0.2;    // maximum share of tasks that are outliers
constexpr size_t kMinForOutliers = 10;

// The groups of a stage: whole tasks at `begin`, then their phases.
struct Stage {
  size_t begin = 0, end = 0;
};

std::vector<Stage> stages_of(const std::vector<Group> &groups) {
  std::vector<Stage> stages;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].phase == 0) stages.push_back({i, i});
    stages.back().end = i + 1;
  }
  return stages;
}

// The attempts of a stage on a node.
struct Attempts {
  size_t count = 0;
  double time_ns = 0;
};

// Attempts of a stage that were killed while another attempt of the same task succeeded on another node.
struct Overtaken {
  std::vector<uint32_t> tasks;
  std::map<uint32_t, Attempts> attempts;  // all attempts of the stage by host
};

class OvertakenStages {
 public:
  OvertakenStages(const JobData &data, const MapPhaseEnds &map_phase_ends) : data_(data), map_phase_ends_(map_phase_ends) {
    std::vector<uint32_t> killed;
    for (uint32_t i = 0; i < data.tasks.size(); ++i)
      if (may_be_overtaken(data.tasks[i])) killed.push_back(i);
    if (killed.empty()) return;
    std::unordered_map<std::string_view, std::vector<uint32_t>> winners;  // by task: the attempts that succeeded
    for (const uint32_t task : killed) winners[task_of(task)];
    for (uint32_t i = 0; i < data.tasks.size(); ++i)
      if (data.tasks[i].is_done())
        if (const auto found = winners.find(task_of(i)); found != winners.end()) found->second.push_back(i);
    for (const uint32_t task : killed)
      if (is_overtaken(data.tasks[task], winners[task_of(task)])) stages_[key_of(data.tasks[task])].tasks.push_back(task);
    count_attempts();
  }

  // nullptr: none.
  const Overtaken *of(uint32_t job, uint32_t stage) const {
    const auto found = stages_.find({job, stage});
    return found == stages_.end() ? nullptr : &found->second;
  }

 private:
  using Key = std::pair<uint32_t, uint32_t>;
  static Key key_of(const Task &task) { return {task.job, task.stage}; }
  // Without the task's id, copies cannot be recognised.
  static bool may_be_overtaken(const Task &task) {
    return task.outcome == Outcome::killed && task.work.duration_ns > 0 && task.host != 0 && !task.task().empty();
  }
  // The job and the task, without the attempt.
  std::string_view task_of(uint32_t number) const {
    const Task &task = data_.tasks[number];
    return std::string_view(*task.key).substr(0, task.attempt_begin);
  }
  bool is_overtaken(const Task &killed, const std::vector<uint32_t> &winners) const {
    return std::any_of(winners.begin(), winners.end(), [&](uint32_t number) {
      const Task &winner = data_.tasks[number];
      return winner.host != killed.host && winner.work.start_ns < killed.work.end_ns() &&
             killed.work.start_ns < winner.work.end_ns();
    });
  }
  void count_attempts() {
    if (stages_.empty()) return;
    for (const Task &task : data_.tasks) {
      const auto stage = stages_.find(key_of(task));
      if (stage == stages_.end() || task.host == 0 || task.work.duration_ns == kUnknown) continue;
      Attempts &own = stage->second.attempts[task.host];
      ++own.count;
      own.time_ns += static_cast<double>(task.work.end_ns() - map_phase_ends_.begin(task));
    }
  }

  const JobData &data_;
  const MapPhaseEnds &map_phase_ends_;
  std::map<Key, Overtaken> stages_;
};

class Finder {
 public:
  Finder(const JobData &data, const std::vector<Group> &groups, const std::vector<PhaseRank> &ranks, const DetectOptions &options)
      : data_(data), groups_(groups), ranks_(ranks), options_(options), map_phase_ends_(data), overtaken_(data, map_phase_ends_) {
    for (const Group &group : groups)
      for (const NodeSpeed &node : group.nodes)
        checked_at_[{group.job, group.phase != 0}] += node.host != 0 && node.tasks >= kMinNodeTasks ? 1 : 0;
  }

  std::vector<Finding> find() {
    for (const Stage &stage : stages_of(groups_)) {
      find_nodes(stage);
      find_overtaken(stage);
      find_outliers(stage);
    }
    return std::move(found_);
  }

 private:
  void find_nodes(const Stage &stage) {
    std::map<uint32_t, Finding> nodes;
    for (size_t i = stage.begin; i < stage.end; ++i) {
      const Group &group = groups_[i];
      for (const NodeSpeed &node : group.nodes)
        if (node.host != 0 && is_slow(group, node, options_, checked_at(group))) take(nodes[node.host], i, node);
    }
    for (auto &[host, finding] : nodes) {
      std::stable_sort(finding.phases.begin(), finding.phases.end(),
                       [](const SlowPhase &a, const SlowPhase &b) { return a.lost > b.lost; });
      finish(finding, stage);
      found_.push_back(std::move(finding));
    }
  }

  // The significance level is divided equally between tests of tasks and tests of phases.
  size_t checked_at(const Group &group) { return 2 * checked_at_[{group.job, group.phase != 0}]; }

  void take(Finding &finding, size_t number, const NodeSpeed &node) {
    const Group &group = groups_[number];
    finding.job = group.job;
    finding.stage = group.stage;
    finding.host = node.host;
    if (group.phase != 0) {
      finding.phases.push_back({number, node.slower(), node.lost});
      return;
    }
    finding.group = number;
    finding.slower = node.slower();
    finding.chance = node.chance;
    finding.lost = node.lost;
  }

  // A node is represented by the phase with the largest loss, or by the decisive phase of the tasks if no phase is slow.
  void finish(Finding &finding, const Stage &stage) {
    if (!finding.phases.empty()) {
      finding.group = finding.phases.front().group;
      const Group &group = groups_[finding.group];
      const auto node =
          std::find_if(group.nodes.begin(), group.nodes.end(), [&](const NodeSpeed &one) { return one.host == finding.host; });
      finding.phase = group.phase;
      finding.slower = node->slower();
      finding.chance = node->chance;
      finding.lost = std::max(finding.lost, node->lost);
    } else {
      finding.group = stage.begin;
    }
    for (const Entry &entry : groups_[finding.group].entries)
      if (entry.grade <= Grade::lower && data_.tasks[entry.task].host == finding.host) finding.tasks.push_back(entry.task);
    add_evidence(finding);
  }

  void add_evidence(Finding &finding) const {
    const Group &group = groups_[finding.group];
    const auto node =
        std::find_if(group.nodes.begin(), group.nodes.end(), [&](const NodeSpeed &one) { return one.host == finding.host; });
    finding.evidence.push_back(speed_text(group, node->speed) + " on " + data_.name(finding.host) + ", " +
                               speed_text(group, node->others) + " on the other nodes (medians of " + std::to_string(node->tasks) +
                               " and " + std::to_string(group.entries.size() - node->tasks) +
                               " tasks): " + percent_text(node->slower()) + " slower");
    finding.evidence.push_back(std::to_string(node->lowest + node->lower) + " of its " + std::to_string(node->tasks) +
                               " tasks are in the two lowest grades of this " + (group.phase == 0 ? "stage" : "phase") +
                               "; this cost " + percent_text(node->lost) + " of their time");
    for (const PhaseRank &rank : ranks_)
      if (rank.group == finding.group && finding.phase != 0 && !std::isnan(rank.correlation))
        finding.evidence.push_back("over all tasks, the phase's speed has a correlation of " + coefficient_text(rank.correlation) +
                                   " with the task's" + (rank.bottleneck ? ", the largest of all phases" : ""));
    for (size_t i = 1; i < finding.phases.size(); ++i)
      finding.evidence.push_back("its " + data_.name(groups_[finding.phases[i].group].phase) + " is " +
                                 percent_text(finding.phases[i].slower) + " slower, too");
  }

  // On some nodes attempts are killed because copies on other nodes are faster, so that they have no grades.
  void find_overtaken(const Stage &stage) {
    const Group &group = groups_[stage.begin];
    const Overtaken *overtaken = overtaken_.of(group.job, group.stage);
    if (overtaken == nullptr || group.entries.size() < kMinTasks) return;
    std::vector<double> times;
    for (const Entry &entry : group.entries) times.push_back(static_cast<double>(entry.time_ns));
    const double usual = evidence::median(std::move(times));
    std::map<uint32_t, std::vector<uint32_t>> longer;  // by host
    size_t all = 0;
    for (const uint32_t task : overtaken->tasks) {
      if (time_of(data_.tasks[task]) <= usual) continue;
      longer[data_.tasks[task].host].push_back(task);
      ++all;
    }
    for (const auto &[host, tasks] : longer) {
      const std::string text = std::to_string(tasks.size()) +
                               " of its attempts were killed after more than the stage's median of " + short_text(usual / 1e9) +
                               " s, because copies on other nodes had overtaken them";
      const auto known = std::find_if(found_.begin(), found_.end(), [&, host = host](const Finding &finding) {
        return finding.job == group.job && finding.stage == group.stage && finding.host == host;
      });
      if (known != found_.end())
        known->evidence.push_back(text);
      else
        add_overtaken(
            {.job = group.job, .stage = group.stage, .host = host, .group = stage.begin, .tasks = tasks, .evidence = {text}},
            *overtaken, all);
    }
  }

  // The wait for maps does not count, as for graded tasks.
  double time_of(const Task &task) const { return static_cast<double>(task.work.end_ns() - map_phase_ends_.begin(task)); }

  // Adds a finding if the node has significantly more such attempts, and their cost is relevant.
  void add_overtaken(Finding finding, const Overtaken &overtaken, size_t all) {
    const Attempts &own = overtaken.attempts.at(finding.host);
    size_t attempts = 0;
    for (const auto &[host, other] : overtaken.attempts) attempts += other.count;
    finding.is_overtaken = true;
    finding.slower = std::numeric_limits<double>::quiet_NaN();  // their progress is unknown
    finding.chance =
        evidence::binomial_tail(finding.tasks.size(), all, static_cast<double>(own.count) / static_cast<double>(attempts));
    for (const uint32_t task : finding.tasks) finding.lost += time_of(data_.tasks[task]) / own.time_ns;
    const size_t nodes = std::max(checked_at(groups_[finding.group]), overtaken.attempts.size());
    if (finding.tasks.size() < kMinNodeTasks || finding.lost < kWorthwhile || !evidence::is_beyond_chance(finding.chance, nodes))
      return;
    finding.evidence.push_back("that is " + std::to_string(finding.tasks.size()) + " of the stage's " + std::to_string(all) +
                               " such attempts on a node that ran " + std::to_string(own.count) + " of " +
                               std::to_string(attempts) + "; they took " + percent_text(finding.lost) + " of its tasks' time");
    found_.push_back(std::move(finding));
  }

  // Nodes that ran more than one task in sequence: there, programs had warmed up.
  std::set<uint32_t> wave_nodes(const Group &group) const {
    std::set<uint32_t> hosts;
    for (const Entry &entry : group.entries)
      if (entry.wave == Wave::later) hosts.insert(data_.tasks[entry.task].host);
    return hosts;
  }

  void find_outliers(const Stage &stage) {
    const Group &group = groups_[stage.begin];
    if (group.entries.size() < kMinForOutliers) return;
    std::vector<double> logs, times;
    for (const Entry &entry : group.entries) {
      logs.push_back(std::log(entry.speed));
      times.push_back(static_cast<double>(entry.time_ns));
    }
    const double middle = std::log(group.speed), deviation = evidence::robust_deviation(logs, middle),
                 usual = evidence::median(std::move(times));
    const double far = std::max(kFarAway, std::sqrt(2 * std::log(static_cast<double>(logs.size()))) + 1) * deviation;
    const std::set<uint32_t> warmed_up = wave_nodes(group);
    std::set<uint32_t> named;
    for (const Finding &finding : found_)
      if (finding.job == group.job && finding.stage == group.stage) named.insert(finding.host);
    Finding finding{.kind = Finding::Kind::tasks, .job = group.job, .stage = group.stage, .group = stage.begin};
    std::vector<double> speeds;
    for (const Entry &entry : group.entries) {
      const double distance = middle - std::log(entry.speed);
      if (entry.grade != Grade::lowest || distance < far || distance < std::log(kMuchSlower)) continue;
      if (static_cast<double>(entry.time_ns) < std::max(kMuchSlower * usual, usual + kMinLostNs) ||
          named.contains(data_.tasks[entry.task].host))
        continue;
      if (entry.wave != Wave::later && warmed_up.contains(data_.tasks[entry.task].host)) continue;
      finding.tasks.push_back(entry.task);
      speeds.push_back(entry.speed);
      finding.lost += static_cast<double>(entry.time_ns) - usual;
    }
    if (speeds.empty() || static_cast<double>(speeds.size()) > kMaxTotal * static_cast<double>(group.entries.size())) return;
    double all = 0;
    for (const Entry &entry : group.entries) all += static_cast<double>(entry.time_ns);
    finding.lost /= all;
    const double slow = evidence::median(std::move(speeds));
    finding.slower = 1 - slow / group.speed;
    finding.phase = slowest_phase(finding, stage);
    finding.evidence.push_back(speed_text(group, slow) + ", " + speed_text(group, group.speed) + " is the median of the stage's " +
                               std::to_string(group.entries.size()) + " tasks");
    found_.push_back(std::move(finding));
  }

  // The phases in which these tasks lost most of their time, compared with the median speed.
  uint32_t slowest_phase(const Finding &finding, const Stage &stage) const {
    const std::set<uint32_t> tasks(finding.tasks.begin(), finding.tasks.end());
    uint32_t phase = 0;
    double maximum = 0;
    for (size_t i = stage.begin + 1; i < stage.end; ++i) {
      double lost = 0;
      for (const Entry &entry : groups_[i].entries)
        if (tasks.contains(entry.task)) lost += static_cast<double>(entry.time_ns) * (1 - entry.speed / groups_[i].speed);
      if (lost <= maximum) continue;
      maximum = lost;
      phase = groups_[i].phase;
    }
    return phase;
  }

  const JobData &data_;
  const std::vector<Group> &groups_;
  const std::vector<PhaseRank> &ranks_;
  const DetectOptions &options_;
  const MapPhaseEnds map_phase_ends_;
  const OvertakenStages overtaken_;
  std::map<std::pair<uint32_t, bool>, size_t> checked_at_;  // nodes in all groups of a job: of whole tasks, and of phases
  std::vector<Finding> found_;
};

}  // namespace

std::string name_of(const JobData &data, const Group &group) {
  const std::string stage = group.stage == 0 ? "tasks" : "stage " + core::in_quotes(data.name(group.stage));
  return "job " + core::in_quotes(data.name(data.jobs[group.job].id)) + ", " + stage;
}

std::string stage_text(const JobData &data, uint32_t stage) {
  const std::string &name = data.name(stage);
  const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
  return stage == 0 ? "" : (is_number ? "stage " : "") + name + " ";
}

std::vector<Finding> find_slow(const JobData &data, const std::vector<Group> &groups, const std::vector<PhaseRank> &ranks,
                               const DetectOptions &options) {
  return Finder(data, groups, ranks, options).find();
}

std::vector<Finding> find_regions(const JobData &data, const std::vector<RegionCost> &regions) {
  std::vector<Finding> found;
  for (const RegionCost &region : regions) {
    if (!region.critical) continue;
    Finding finding{.kind = Finding::Kind::region, .job = region.job, .region = region.name};
    finding.lost = region.share;
    finding.summary =
        "critical code region " + data.name(region.name) + ": " + std::string(severity_text(region.severity)) + ", " +
        short_text(region.seconds) + " s in " + std::to_string(region.count) + " runs, " + percent_text(region.share) +
        " of all regions" +
        (std::isnan(region.of_tasks) ? "" : ", " + percent_text(region.of_tasks) + " of the time of tasks on its nodes");
    finding.evidence.push_back(short_text(region.seconds / static_cast<double>(region.count) * 1000) + " ms per run");
    if (region.bytes_seconds > 0) finding.evidence.push_back(short_text(region.bytes / 1024 / region.bytes_seconds) + " KiB/s");
    found.push_back(std::move(finding));
  }
  return found;
}

}  // namespace atalaya::jobs
