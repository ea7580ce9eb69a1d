// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/rules/shape.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"
#include "plugins/shared/analysis/jobs/rules/settings.h"

namespace atalaya::jobs {
namespace {

constexpr size_t kTasksPerSlot = 2;  // Spark's tuning guide recommends 2 to 3 tasks for each core
constexpr size_t kMaxCauses = 3;

struct Interval {
  int64_t begin_ns = INT64_MAX, end_ns = 0;
  int64_t length() const { return end_ns - begin_ns; }
};

Interval interval_of(const RuleJob &job, const RuleStage &stage) {
  Interval all;
  for (const uint32_t task : stage.tasks) {
    all.begin_ns = std::min(all.begin_ns, job.tasks().begin(task));
    all.end_ns = std::max(all.end_ns, job.tasks().end(task));
  }
  return all;
}

// The recorded plan with other tasks for this stage.
Plan with_pieces(const RuleJob &job, uint32_t stage, const std::vector<int64_t> &pieces) {
  Plan plan = job.replay().plan(job.replay().times());
  const uint32_t number = job.replay().stages().numbers.at(stage);
  const auto is_of = [&](const PlannedTask &task) { return task.stage == number; };
  const auto place = std::find_if(plan.tasks.begin(), plan.tasks.end(), is_of) - plan.tasks.begin();
  std::erase_if(plan.tasks, is_of);
  std::vector<PlannedTask> added;
  for (const int64_t ns : pieces) added.push_back({number, 0, ns});
  plan.tasks.insert(plan.tasks.begin() + place, added.begin(), added.end());
  for (std::vector<double> &slower : plan.slower) slower[number] = 1;
  return plan;
}

// Executors that ran no task, as one more executor.
void add_idle(Plan &plan, size_t slots) {
  if (plan.slots.size() >= slots) return;
  const auto executor = static_cast<uint32_t>(plan.slower.size());
  plan.slower.emplace_back(plan.stages.size(), 1.0);
  plan.slots.insert(plan.slots.end(), slots - plan.slots.size(), executor);
}

// New tasks are on no executor yet, so both replays give each task to the next free slot.
double saved(const RuleJob &job, uint32_t stage, const std::vector<int64_t> &pieces, size_t slots) {
  Plan now = job.replay().plan(job.replay().times()), changed = with_pieces(job, stage, pieces);
  now.is_pinned = changed.is_pinned = false;
  add_idle(now, slots);
  add_idle(changed, slots);
  return static_cast<double>(std::max<int64_t>(replay(now) - replay(changed), 0)) / 1e9;
}

int64_t median_of(const std::vector<double> &values) {
  return values.empty() ? 0 : std::llround(evidence::median(values));
}

// Median time of tasks beside their own code: start, code and result.
int64_t usual_overhead(const RuleJob &job, const std::vector<uint32_t> &tasks, bool is_first) {
  std::vector<double> overheads;
  for (const uint32_t task : tasks)
    if (job.of(task).counts.has(Count::run_ns) && job.is_first(task) == is_first)
      overheads.push_back(static_cast<double>(std::max<int64_t>(job.time(task) - job.of(task).counts.of(Count::run_ns), 0)));
  return median_of(overheads);
}

int64_t total(const RuleJob &job, const std::vector<uint32_t> &tasks, Count count) {
  int64_t sum = 0;
  for (const uint32_t task : tasks) sum += job.of(task).counts.or_zero(count);
  return sum;
}

std::string count_text(size_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void sort_causes(Measured &found) {
  std::stable_sort(found.causes.begin(), found.causes.end(), [](const Cause &a, const Cause &b) { return a.seconds > b.seconds; });
  found.causes.resize(std::min(found.causes.size(), kMaxCauses));
}

// The pieces of a stage of few tasks: those that start on an idle slot start a program first.
std::vector<int64_t> divided(const RuleJob &job, const RuleStage &stage, size_t slots) {
  const size_t count = kTasksPerSlot * slots;
  const int64_t run = total(job, stage.tasks, Count::run_ns) / static_cast<int64_t>(count);
  std::vector<int64_t> pieces(count, run + usual_overhead(job, job.tasks().order(), false));
  const int64_t overhead = std::max(usual_overhead(job, stage.tasks, true), usual_overhead(job, stage.tasks, false));
  std::fill_n(pieces.begin(), slots, run + overhead);
  return pieces;
}

// Frameworks do not divide so little data either: the default of spark.sql.adaptive.coalescePartitions.minPartitionSize.
bool is_too_little(const RuleJob &job, const RuleStage &stage) {
  constexpr int64_t kMinBytes = 1 << 20;
  const int64_t bytes = total(job, stage.tasks, Count::shuffled_bytes) + total(job, stage.tasks, Count::remote_shuffled) +
                        total(job, stage.tasks, Count::input_bytes);
  return bytes > 0 && bytes < kMinBytes;
}

void add_few(const RuleJob &job, const RuleStage &stage, size_t slots, Measured &found) {
  const double slot_seconds = static_cast<double>(interval_of(job, stage).length()) / 1e9;
  if (slot_seconds < job.least() || is_too_little(job, stage)) return;
  const double seconds = saved(job, stage.stage, divided(job, stage, slots), slots);
  if (seconds < job.least()) return;
  const size_t count = stage.tasks.size();
  Cause cause{.stage = stage.stage, .seconds = seconds, .tasks = stage.tasks};
  cause.text = "too few partitions: " + job.stage_name(stage.stage) + " has " + count_text(count, "task") + " for " +
               count_text(slots, "slot") + ", so that " + count_text(slots - count, "slot") + " had none of it for " +
               short_text(slot_seconds) + " s";
  cause.advice.push_back(more_partitions(job, stage.stage, kTasksPerSlot * slots));
  found.causes.push_back(std::move(cause));
}

// Fewer and longer tasks do the same work, each with the usual overhead.
std::vector<int64_t> combined(const RuleJob &job, const RuleStage &stage, size_t count) {
  const bool is_spark = job.is_spark();
  std::vector<double> overheads;
  for (const uint32_t task : stage.tasks)
    overheads.push_back(static_cast<double>(std::max<int64_t>(job.time(task) - job.of(task).counts.or_zero(Count::cpu_ns), 0)));
  const int64_t work = total(job, stage.tasks, is_spark ? Count::run_ns : Count::cpu_ns) / static_cast<int64_t>(count);
  return std::vector<int64_t>(count, work + (is_spark ? usual_overhead(job, stage.tasks, false) : median_of(overheads)));
}

Advice fewer_tasks(const RuleJob &job, const RuleStage &stage, size_t count) {
  const std::string number = std::to_string(count);
  if (job.is_spark()) return more_partitions(job, stage.stage, count);
  return {.action = "combine the input into " + number + " " + job.data().name(stage.stage) +
                    " tasks (CombineFileInputFormat, or a larger mapreduce.input.fileinputformat.split.minsize)"};
}

void add_small(const RuleJob &job, const RuleStage &stage, double usual_ns, Measured &found) {
  const size_t count = job.is_spark() ? kTasksPerSlot * job.slots() : job.slots();
  if (count == 0 || stage.tasks.size() <= count) return;
  const double seconds = saved(job, stage.stage, combined(job, stage, count), job.slots());
  if (seconds < job.least()) return;
  double time = 0;
  for (const uint32_t task : stage.tasks) time += static_cast<double>(job.time(task));
  Cause cause{.stage = stage.stage, .seconds = seconds, .tasks = stage.tasks};
  cause.text = "too many small tasks: " + job.stage_name(stage.stage) + " has " + std::to_string(stage.tasks.size()) +
               " tasks for " + count_text(job.slots(), "slot") + ", with a median of " + short_text(usual_ns / 1e6) + " ms " +
               (job.is_spark() ? "run time" : "CPU time") + " in " +
               short_text(time / 1e9 / static_cast<double>(stage.tasks.size())) + " s for each task";
  cause.advice.push_back(fewer_tasks(job, stage, count));
  found.causes.push_back(std::move(cause));
}

// The value is that of the stage with the smallest tasks.
Measured small_tasks(const RuleJob &job, const Rule &rule, Count work) {
  Measured found;
  for (const RuleStage &stage : job.stages()) {
    std::vector<double> values;
    for (const uint32_t task : stage.tasks)
      if (job.of(task).counts.has(work)) values.push_back(static_cast<double>(job.of(task).counts.of(work)));
    if (values.size() < stage.tasks.size() || stage.tasks.size() <= job.slots()) continue;
    const double usual = evidence::median(std::move(values));
    found.value = std::min(std::isnan(found.value) ? usual / 1e6 : found.value, usual / 1e6);
    if (usual / 1e6 < rule.limit) add_small(job, stage, usual, found);
  }
  sort_causes(found);
  return found;
}

}  // namespace

Measured few_partitions(const RuleJob &job, const Rule &rule) {
  Measured found;
  for (const RuleStage &stage : job.stages()) {
    const Interval time = interval_of(job, stage);
    const size_t slots = job.slots_in(time.begin_ns, time.end_ns);
    if (slots == 0 || total(job, stage.tasks, Count::run_ns) == 0) continue;
    const double idle = 1 - static_cast<double>(stage.tasks.size()) / static_cast<double>(slots);
    found.value = std::max(std::isnan(found.value) ? 0 : found.value, idle);
    if (idle >= rule.limit) add_few(job, stage, slots, found);
  }
  sort_causes(found);
  return found;
}

Measured small_spark_tasks(const RuleJob &job, const Rule &rule) {
  return small_tasks(job, rule, Count::run_ns);
}

Measured small_mapreduce_tasks(const RuleJob &job, const Rule &rule) {
  return small_tasks(job, rule, Count::cpu_ns);
}

}  // namespace atalaya::jobs
