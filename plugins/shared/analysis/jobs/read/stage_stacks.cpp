// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/read/stage_stacks.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <utility>

#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/findings/slow_tasks.h"
#include "plugins/shared/analysis/jobs/read/read_jobs.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::jobs {
namespace {

constexpr size_t kMaxTasks = 500;                   // maximum tasks of each side; more tasks do not improve the comparison
constexpr int64_t kLongestWindow = 60'000'000'000;  // the stacks of a task are in windows that may begin before it and end after it

void add_tagged(flamegraph::Tree &tree, flamegraph::Side side, const char *tag, const std::vector<std::string> &ids,
                store::Store &store, flamegraph::Wanted wanted, const store::Range &range, query::Budget &budget,
                const flamegraph::Visitor &visitor = {}) {
  store::TagFilter filter{tag, {}};
  for (const std::string &id : ids) filter.patterns.push_back(query::exact_pattern(id));
  wanted.tags.push_back(std::move(filter));
  flamegraph::add_stored(tree, side, store, wanted, range, budget, visitor);
}

const Group &stage_of(const std::vector<Group> &groups, const JobData &data, const std::string &stage) {
  std::vector<const Group *> found;
  std::set<std::string> stages;
  for (const Group &group : groups) {
    if (group.phase != 0) continue;
    stages.insert(data.name(group.stage));
    if (data.name(group.stage) == stage) found.push_back(&group);
  }
  if (found.empty())
    throw query::Wrong("stage " + stage + ": no job in this range has ended tasks of this stage" +
                       core::did_you_mean(stage, std::vector<std::string>(stages.begin(), stages.end())));
  if (found.size() == 1) return *found.front();
  std::string jobs;
  for (const Group *one : found) jobs += (jobs.empty() ? "" : ", ") + data.name(data.jobs[one->job].id);
  throw query::Wrong("stage " + stage + ": several jobs in this range have this stage; name one as job: " + jobs);
}

std::vector<std::string> attempts_of(const JobData &data, const std::vector<uint32_t> &tasks) {
  std::vector<std::string> attempts;
  for (const uint32_t number : evidence::evenly_spaced(tasks, kMaxTasks)) {
    const Task &task = data.tasks[number];
    attempts.emplace_back(task.attempt().empty() ? task.task() : task.attempt());
  }
  return attempts;
}

}  // namespace

ComparedTasks stage_tasks(const std::string &stage, const std::string &job, store::Store &store, const store::Range &range,
                          query::Budget &budget) {
  std::vector<std::string> jobs;
  if (!job.empty()) jobs.push_back(job);
  const JobData data = read_jobs(jobs, {}, range, store, budget, WithoutJob::read);
  const std::vector<Group> groups = grade(data, {}, budget);
  const Group &group = stage_of(groups, data, stage);
  const SlowTasks tasks = slow_tasks(group);
  ComparedTasks found{attempts_of(data, tasks.slow),
                      attempts_of(data, tasks.median),
                      tasks.slow_seconds,
                      tasks.median_seconds,
                      group.entries.size(),
                      {INT64_MAX, 0}};
  for (const Entry &entry : group.entries) {
    found.range.from_ns = std::min(found.range.from_ns, entry.start_ns - kLongestWindow);
    found.range.to_ns = std::max(found.range.to_ns, entry.start_ns + entry.time_ns + kLongestWindow);
  }
  return found;
}

std::string text_of(const ComparedTasks &tasks, const std::string &stage) {
  std::array<char, 256> text{};
  if (tasks.slow.empty())
    std::snprintf(text.data(), text.size(), "no difference: stage %s has no slow task among its %zu (median %.3g s)", stage.c_str(),
                  tasks.all, tasks.median_seconds);
  else
    std::snprintf(text.data(), text.size(), "stage %s has %zu slow %s (median %.3g s) of %zu; the middle half takes %.3g s",
                  stage.c_str(), tasks.slow.size(), tasks.slow.size() == 1 ? "task" : "tasks", tasks.slow_seconds, tasks.all,
                  tasks.median_seconds);
  return text.data();
}

flamegraph::Values add_stage(flamegraph::Tree &tree, const ComparedTasks &tasks, store::Store &store,
                             const flamegraph::Wanted &wanted, query::Budget &budget) {
  std::array<std::set<std::string>, 2> seen;
  for (const flamegraph::Side side : {flamegraph::Side::shown, flamegraph::Side::before}) {
    const std::vector<std::string> &ids = side == flamegraph::Side::shown ? tasks.slow : tasks.median;
    for (const std::string tag : {"attempt", "task"})
      if (std::set<std::string> &own = seen[static_cast<size_t>(side)]; own.empty())
        add_tagged(tree, side, tag.c_str(), ids, store, wanted, tasks.range, budget,
                   [&](const store::Stack &stack) { own.insert(stack.tags.at(tag)); });
  }
  return {static_cast<double>(seen[0].size()), static_cast<double>(seen[1].size())};
}

}  // namespace atalaya::jobs
