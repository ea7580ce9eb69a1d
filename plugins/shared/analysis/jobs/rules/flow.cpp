// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/rules/flow.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "plugins/shared/analysis/jobs/reasons/resource.h"

namespace atalaya::jobs {
namespace {

constexpr size_t kMaxShown = 3;
constexpr double kMinDriverSeconds = 10;  // queries are planned and jobs started in some seconds

// Time in which no task ran and no stage was submitted.
struct Gap {
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t before = 0, after = 0;  // stages; 0: none
  double seconds() const { return static_cast<double>(end_ns - begin_ns) / 1e9; }
};

struct Busy {
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t stage = 0;
};

std::vector<Busy> busy_times(const RuleJob &job) {
  std::vector<Busy> busy;
  for (const uint32_t task : job.tasks().order())
    busy.push_back({job.tasks().begin(task), job.tasks().end(task), job.of(task).stage});
  for (const auto &[place, stage] : job.data().stages)
    if (place.first == job.tasks().job() && stage.work.duration_ns > 0 && stage.work.end_ns() > job.first_ns())
      busy.push_back({stage.work.start_ns, stage.work.end_ns(), place.second});
  std::stable_sort(busy.begin(), busy.end(), [](const Busy &a, const Busy &b) { return a.begin_ns < b.begin_ns; });
  return busy;
}

std::vector<Gap> gaps_of(const RuleJob &job) {
  std::vector<Gap> gaps;
  int64_t until = job.first_ns();
  uint32_t last = 0;
  for (const Busy &one : busy_times(job)) {
    if (one.begin_ns > until) gaps.push_back({until, one.begin_ns, last, one.stage});
    if (one.end_ns >= until) last = one.stage;
    until = std::max(until, one.end_ns);
  }
  if (job.end_ns() > until) gaps.push_back({until, job.end_ns(), last, 0});
  return gaps;
}

// The stages of a stream have the place of its start as their name; between its batches, the driver waits for data.
bool is_stream(const RuleJob &job) {
  size_t streams = 0, all = 0;
  for (const RuleStage &one : job.stages()) {
    const StageSpan *stage = job.span_of(one.stage);
    if (stage == nullptr) continue;
    ++all;
    streams += job.data().name(stage->name).starts_with("start at ") ? 1 : 0;
  }
  return all == 0 || 2 * streams > all;
}

// The stage of all its attempts: "2" of "2.1".
std::string_view whole_stage(std::string_view stage) {
  return stage.substr(0, stage.find('.'));
}

// Spark numbers the tasks of a stage's attempt: task 4 of "2.1" is "2.1.4".
std::pair<std::string, std::string> piece_of(const RuleJob &job, const Task &task) {
  const std::string_view id = task.task();
  if (!job.is_spark()) return {"", std::string(id)};
  const size_t dot = id.rfind('.');
  return {std::string(whole_stage(job.data().name(task.stage))),
          std::string(dot == std::string_view::npos ? id : id.substr(dot + 1))};
}

// Without this, no attempt can be a repetition.
bool has_broken(const RuleJob &job) {
  const std::vector<uint32_t> &order = job.tasks().order();
  return std::any_of(order.begin(), order.end(), [&](uint32_t i) { return !job.of(i).has_ended_well(); });
}

// Attempts that failed, and those that had succeeded once before.
std::set<uint32_t> repeated_attempts(const RuleJob &job) {
  std::set<uint32_t> repeated;
  if (!has_broken(job)) return repeated;
  std::set<std::pair<std::string, std::string>> done;
  for (const uint32_t i : job.tasks().order()) {
    const Task &task = job.of(i);
    if (task.task().empty()) continue;
    if (task.outcome == Outcome::failed) repeated.insert(i);
    if (task.outcome == Outcome::succeeded && !done.insert(piece_of(job, task)).second) repeated.insert(i);
  }
  return repeated;
}

// Stages that only repeat work start at once.
Plan without(const RuleJob &job, const std::set<uint32_t> &repeated) {
  std::vector<int64_t> times = job.replay().times();
  std::set<uint32_t> needed;
  for (const uint32_t i : job.tasks().order()) {
    if (repeated.contains(i))
      times[i] = 0;
    else
      needed.insert(job.replay().stages().number_of_stage(job.of(i)));
  }
  Plan plan = job.replay().plan(times);
  for (uint32_t stage = 0; stage < plan.stages.size(); ++stage)
    if (!needed.contains(stage)) plan.stages[stage].gap_ns = plan.stages[stage].task_gap_ns = 0;
  return plan;
}

}  // namespace

Measured driver_gaps(const RuleJob &job, const Rule &rule) {
  Measured found;
  if (is_stream(job)) return found;
  std::vector<Gap> gaps = gaps_of(job);
  double sum = 0;
  for (const Gap &gap : gaps) sum += gap.seconds();
  found.value = job.from_first_task() > 0 ? sum / job.from_first_task() : 0;
  if (found.value < rule.limit || sum < std::max(kMinDriverSeconds, job.least())) return found;
  std::stable_sort(gaps.begin(), gaps.end(), [](const Gap &a, const Gap &b) { return a.seconds() > b.seconds(); });
  Cause cause{.seconds = sum};
  cause.text = "the driver works alone: no stage and no task ran for " + short_text(sum) + " s, " + percent_text(found.value) +
               " of the " + short_text(job.from_first_task()) + " s from the first task to the end";
  for (size_t i = 0; i < std::min(gaps.size(), kMaxShown); ++i)
    cause.evidence.push_back(short_text(gaps[i].seconds()) + " s after " + job.stage_name(gaps[i].before) +
                             (gaps[i].after == 0 ? ", until the end" : ", before " + job.stage_name(gaps[i].after)));
  cause.advice.push_back({.action = "move this work of the driver into tasks, or run independent jobs in parallel threads"});
  found.causes.push_back(std::move(cause));
  return found;
}

Measured repetition(const RuleJob &job, const Rule &rule) {
  Measured found;
  const Outcome outcome = job.data().jobs[job.tasks().job()].outcome;
  if (outcome == Outcome::failed || outcome == Outcome::killed) return found;  // its errors are the reason
  const std::set<uint32_t> repeated = repeated_attempts(job);
  double lost = 0, all = 0;
  size_t failed = 0;
  for (const uint32_t i : job.tasks().order()) {
    all += static_cast<double>(job.time(i));
    if (!repeated.contains(i)) continue;
    lost += static_cast<double>(job.time(i));
    failed += job.of(i).outcome == Outcome::failed ? 1 : 0;
  }
  found.value = all > 0 ? lost / all : 0;
  if (found.value < rule.limit) return found;
  Cause cause{.seconds = job.replay().saved(without(job, repeated)), .tasks = {repeated.begin(), repeated.end()}};
  if (cause.seconds < job.least()) return found;
  const size_t again = repeated.size() - failed;
  cause.text = "work was done again: " + std::to_string(failed) + (failed == 1 ? " attempt" : " attempts") + " failed" +
               (again > 0 ? " and " + std::to_string(again) + " repeated finished work" : "") + ", " + short_text(lost / 1e9) +
               " s, " + percent_text(found.value) + " of the time of all attempts";
  if (job.is_spark() && again > 0) {
    const char *key = "spark.shuffle.service.enabled";
    const std::string now = job.setting(key).value_or("");
    if (now != "true")
      cause.advice.push_back(
          {.setting = key, .now = now, .proposed = "true", .action = "which keeps the shuffle files of lost executors"});
  }
  found.causes.push_back(std::move(cause));
  return found;
}

}  // namespace atalaya::jobs
