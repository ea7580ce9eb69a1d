// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/reasons/remote_reads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/findings/findings.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"

namespace atalaya::jobs {
namespace {

constexpr double kMore =
    0.1;  // a remote task reads a share of its bytes over the network that is larger than the usual one by at least this
constexpr double kMinNoise = 0.02;  // relative precision of clocks and counters

bool is_known(const Task &task) {
  return task.host != 0 && task.remote_of > 0 && task.work.remote != kUnknown;
}

double share_of(const Task &task) {
  return std::min(1.0, static_cast<double>(task.work.remote) / static_cast<double>(task.remote_of));
}

// Student's t-test of remote against local tasks within the same node and wave.
class Contrast {
 public:
  void add(const Entry &entry, uint32_t host, bool is_remote) {
    cells_[{host, entry.wave}][is_remote ? 1 : 0].push_back(std::log(entry.speed));
  }
  void test(RemoteReads &found) const {
    double squares = 0, degrees = 0, difference = 0, weights = 0;
    for (const auto &[place, cell] : cells_) {
      std::array<double, 2> means{};
      for (size_t kind = 0; kind < 2; ++kind) {
        for (const double log : cell[kind]) means[kind] += log / static_cast<double>(cell[kind].size());
        for (const double log : cell[kind]) squares += (log - means[kind]) * (log - means[kind]);
        degrees += cell[kind].empty() ? 0 : static_cast<double>(cell[kind].size() - 1);
      }
      if (cell[0].empty() || cell[1].empty()) continue;
      const double weight = 1 / (1 / static_cast<double>(cell[0].size()) + 1 / static_cast<double>(cell[1].size()));
      difference += weight * (means[0] - means[1]);
      weights += weight;
    }
    if (weights == 0 || degrees == 0) return;
    const double noise = std::max(std::sqrt(squares / degrees), kMinNoise);
    found.slower = 1 - std::exp(-difference / weights);
    found.chance_slower = evidence::student_tail(difference / weights / (noise / std::sqrt(weights)), degrees);
  }

 private:
  std::map<std::pair<uint32_t, Wave>, std::array<std::vector<double>, 2>>
      cells_;  // by node and wave: speeds of local and of remote tasks
};

double median_share(const JobData &data, const Group &group, const std::vector<bool> &omitted) {
  std::vector<double> shares;
  for (const Entry &entry : group.entries)
    if (is_known(data.tasks[entry.task]) && !omitted[entry.task]) shares.push_back(share_of(data.tasks[entry.task]));
  return shares.empty() ? 0 : evidence::median(std::move(shares));
}

bool is_remote(const Task &task, double usual) {
  return share_of(task) >= usual + kMore;
}

}  // namespace

std::optional<RemoteReads> remote_reads(const JobData &data, const Group &group, const std::vector<bool> &is_own) {
  const double usual = median_share(data, group, is_own);
  RemoteReads found;
  size_t others = 0, others_remote = 0;
  std::array<double, 2> bytes{}, remote{};  // index 0: the other nodes; 1: this node
  std::array<Contrast, 2> contrasts;
  for (const Entry &entry : group.entries) {
    const Task &task = data.tasks[entry.task];
    if (!is_known(task)) continue;
    const bool own = is_own[entry.task], far = is_remote(task, usual);
    bytes[own ? 1 : 0] += static_cast<double>(task.remote_of);
    remote[own ? 1 : 0] += static_cast<double>(task.work.remote);
    contrasts[own ? 1 : 0].add(entry, task.host, far);
    ++(own ? found.own : others);
    if (far) ++(own ? found.own_remote : others_remote);
  }
  if (found.own == 0 || others == 0) return std::nullopt;
  found.own_share = std::min(1.0, remote[1] / bytes[1]);
  found.other_share = std::min(1.0, remote[0] / bytes[0]);
  const double usual_part = (static_cast<double>(others_remote) + 1) / (static_cast<double>(others) + 2);
  found.chance = evidence::binomial_tail(found.own_remote, found.own, usual_part);
  contrasts[1].test(found);
  if (!found.slower) contrasts[0].test(found);  // all tasks of this node are remote: the tasks of the other nodes show the cost
  return found;
}

std::vector<Finding> find_remote(const JobData &data, const std::vector<Group> &groups, const std::vector<Finding> &known,
                                 const DetectOptions &options) {
  std::set<std::pair<uint32_t, uint32_t>> shuffles, explained;  // job, stage
  std::map<uint32_t, size_t> stages;
  for (const Group &group : groups) {
    if (group.phase == 0) ++stages[group.job];
    if (group.phase != 0 && needs_of(data.name(group.phase)).network) shuffles.emplace(group.job, group.stage);
  }
  for (const Finding &finding : known)
    if (finding.reason == Reason::remote_reads) explained.emplace(finding.job, finding.stage);
  std::vector<Finding> all;
  const std::vector<bool> none(data.tasks.size(), false);
  for (size_t i = 0; i < groups.size(); ++i) {
    const Group &group = groups[i];
    if (group.phase != 0 || shuffles.contains({group.job, group.stage}) || explained.contains({group.job, group.stage})) continue;
    const double usual = median_share(data, group, none);
    Finding finding{.kind = Finding::Kind::tasks, .job = group.job, .stage = group.stage, .group = i};
    Contrast contrast;
    double time = 0, of_remote = 0;
    size_t count = 0;
    for (const Entry &entry : group.entries) {
      const Task &task = data.tasks[entry.task];
      time += static_cast<double>(entry.time_ns);
      if (!is_known(task)) continue;
      ++count;
      const bool far = is_remote(task, usual);
      contrast.add(entry, task.host, far);
      if (!far) continue;
      finding.tasks.push_back(entry.task);
      of_remote += static_cast<double>(entry.time_ns);
    }
    RemoteReads found;
    contrast.test(found);
    const double slower = found.slower.value_or(0);
    finding.lost = time > 0 ? of_remote * slower / time : 0;
    if (finding.tasks.size() < kMinNodeTasks || slower < options.minimum || finding.lost < kWorthwhile ||
        !evidence::is_beyond_chance(found.chance_slower, stages[group.job]))
      continue;
    finding.slower = slower;
    finding.reason = Reason::remote_reads;
    finding.summary = "remote reads: the " + std::to_string(finding.tasks.size()) + " of " + std::to_string(count) + " " +
                      stage_text(data, finding.stage) + "tasks that read over the network are " + percent_text(slower) +
                      " slower than the others on the same nodes";
    finding.evidence.push_back("this cost " + percent_text(finding.lost) + " of the time of the stage's tasks");
    all.push_back(std::move(finding));
  }
  return all;
}

}  // namespace atalaya::jobs
