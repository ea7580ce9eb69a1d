// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/model/phases.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/reasons/correlate.h"

namespace atalaya::jobs {
namespace {

constexpr double kFastest = 0.2;
constexpr size_t kMinTasks = 3;  // minimum tasks for a correlation

// The groups of one stage: whole tasks, then one per phase.
class RankedStage {
 public:
  RankedStage(const JobData &data, const std::vector<Group> &groups, size_t begin, size_t end, std::vector<double> &speeds,
              std::vector<size_t> &row_of)
      : data_(data), groups_(groups), begin_(begin), end_(end), speeds_(speeds), row_of_(row_of) {}

  std::vector<PhaseRank> rank() {
    for (const Entry &entry : groups_[begin_].entries) speeds_[entry.task] = entry.speed;
    std::vector<PhaseRank> ranks;
    for (size_t i = begin_ + 1; i < end_; ++i) ranks.push_back(rank_of(i));
    set_loadings(ranks);
    std::stable_sort(ranks.begin(), ranks.end(), [](const PhaseRank &a, const PhaseRank &b) { return order(a) > order(b); });
    const auto top = static_cast<size_t>(std::ceil(kFastest * static_cast<double>(ranks.size())));
    for (size_t i = 0; i < top && i < ranks.size(); ++i) ranks[i].bottleneck = ranks[i].correlation > 0;
    for (const Entry &entry : groups_[begin_].entries) speeds_[entry.task] = evidence::kNone;
    return ranks;
  }

 private:
  static double order(const PhaseRank &rank) { return std::isnan(rank.correlation) ? -2 : rank.correlation; }

  PhaseRank rank_of(size_t number) const {
    PhaseRank rank{.group = number, .correlation = evidence::kNone, .loading = evidence::kNone, .share = evidence::kNone};
    std::vector<double> own, of_task;
    double time = 0, all = 0;
    for (const Entry &entry : groups_[number].entries) {
      time += static_cast<double>(entry.time_ns);
      all += static_cast<double>(data_.tasks[entry.task].work.duration_ns);
      if (std::isnan(speeds_[entry.task])) continue;
      own.push_back(entry.speed);
      of_task.push_back(speeds_[entry.task]);
    }
    if (all > 0) rank.share = time / all;
    if (own.size() >= kMinTasks) rank.correlation = evidence::correlation(own, of_task);
    return rank;
  }

  // Uses the tasks that have all phases.
  void set_loadings(std::vector<PhaseRank> &ranks) const {
    if (ranks.empty()) return;
    std::vector<std::vector<double>> rows(groups_[begin_].entries.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      row_of_[groups_[begin_].entries[i].task] = i;
      rows[i] = {groups_[begin_].entries[i].speed};
    }
    for (size_t i = begin_ + 1; i < end_; ++i)
      for (const Entry &entry : groups_[i].entries)
        if (!std::isnan(speeds_[entry.task])) rows[row_of_[entry.task]].push_back(entry.speed);
    Table table;
    table.columns.resize(end_ - begin_);
    for (size_t i = begin_; i < end_; ++i) table.names.push_back(std::to_string(i));
    for (const std::vector<double> &row : rows)
      for (size_t i = 0; i < row.size() && row.size() == table.columns.size(); ++i) table.columns[i].push_back(row[i]);
    if (table.rows() < kMinTasks) return;
    table = normalised(std::move(table));
    const Component component = first_component(table);
    for (size_t i = 0; i < component.loadings.size(); ++i)
      if (const size_t group = std::stoul(table.names[i]); group != begin_)
        ranks[group - begin_ - 1].loading = component.loadings[i];
  }

  const JobData &data_;
  const std::vector<Group> &groups_;
  size_t begin_, end_;
  std::vector<double> &speeds_;  // by task: its speed; NaN between calls
  std::vector<size_t> &row_of_;  // by task: its row; valid for tasks of this stage only
};

}  // namespace

std::vector<PhaseRank> rank_phases(const JobData &data, const std::vector<Group> &groups) {
  std::vector<double> speeds(data.tasks.size(), evidence::kNone);
  std::vector<size_t> row_of(data.tasks.size(), 0);
  std::vector<PhaseRank> all;
  for (size_t begin = 0; begin < groups.size();) {
    size_t end = begin + 1;
    while (end < groups.size() && groups[end].phase != 0) ++end;
    std::vector<PhaseRank> ranks = RankedStage(data, groups, begin, end, speeds, row_of).rank();
    std::move(ranks.begin(), ranks.end(), std::back_inserter(all));
    begin = end;
  }
  return all;
}

std::optional<Needs> phase_needs(const JobData &data, const std::vector<Group> &groups, const Group &group, uint32_t phase) {
  if (phase == 0) return std::nullopt;
  std::vector<std::string> names;
  bool is_remote = false;
  for (const Group &one : groups) {
    if (one.job != group.job || one.stage != group.stage || one.phase == 0) continue;
    names.push_back(data.name(one.phase));
    is_remote = is_remote || (one.phase == phase && one.is_remote);
  }
  Needs needs = needs_of(data.name(phase), names);
  needs.input = needs.input || is_remote;
  return needs;
}

}  // namespace atalaya::jobs
