// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/rules/parts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "plugins/shared/analysis/jobs/findings/detect.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"
#include "plugins/shared/analysis/jobs/rules/settings.h"

namespace atalaya::jobs {
namespace {

// The avoidable nanoseconds of a task; nothing if it does not report them.
using PartOf = std::function<std::optional<int64_t>(uint32_t task)>;

struct StagePart {
  uint32_t stage = 0;
  double part = 0, time = 0;  // nanoseconds
  std::vector<uint32_t> tasks;
  double share() const { return time > 0 ? part / time : 0; }
};

double seconds_of(double ns) {
  return ns / 1e9;
}

int64_t bounded(const RuleJob &job, uint32_t task, int64_t part) {
  return std::clamp<int64_t>(part, 0, job.time(task));
}

std::vector<StagePart> stage_parts(const RuleJob &job, const PartOf &part_of) {
  std::vector<StagePart> parts;
  for (const RuleStage &stage : job.stages()) {
    StagePart one{.stage = stage.stage};
    for (const uint32_t task : stage.tasks) {
      const std::optional<int64_t> part = part_of(task);
      if (!part) continue;
      one.part += static_cast<double>(bounded(job, task, *part));
      one.time += static_cast<double>(job.time(task));
      one.tasks.push_back(task);
    }
    if (!one.tasks.empty()) parts.push_back(std::move(one));
  }
  return parts;
}

std::string places_text(const RuleJob &job, const std::vector<StagePart> &stages) {
  const std::string first = job.stage_name(stages.front().stage);
  if (stages.size() == 1) return first;
  return std::to_string(stages.size()) + " stages, most in " + first;
}

// One cause for the job if the part's share of the tasks' time reaches the limit, or for the stages in which it does. `describe`
// adds evidence and advice.
Measured measure(const RuleJob &job, const Rule &rule, const std::string &what, const PartOf &part_of,
                 const std::function<void(Cause &, const std::vector<StagePart> &)> &describe) {
  std::vector<StagePart> parts = stage_parts(job, part_of);
  StagePart all;
  for (const StagePart &one : parts) {
    all.part += one.part;
    all.time += one.time;
  }
  Measured found;
  if (all.time > 0) found.value = all.share();
  // In a job above the limit all stages with a relevant part count, else those above it.
  const bool is_above = all.share() >= rule.limit;
  std::erase_if(parts,
                [&](const StagePart &one) { return is_above ? one.part < kWorthwhile * all.part : one.share() < rule.limit; });
  std::stable_sort(parts.begin(), parts.end(), [](const StagePart &a, const StagePart &b) { return a.part > b.part; });
  StagePart above;
  for (const StagePart &one : parts) {
    above.part += one.part;
    above.time += one.time;
  }
  if (seconds_of(above.part) < job.least()) return found;
  std::vector<int64_t> times = job.replay().times();
  Cause cause{.stage = parts.size() == 1 ? parts.front().stage : 0};
  for (const StagePart &one : parts)
    for (const uint32_t task : one.tasks) {
      times[task] -= bounded(job, task, *part_of(task));
      cause.tasks.push_back(task);
    }
  cause.seconds = job.replay().saved_with(times);
  if (cause.seconds < job.least()) return found;
  cause.text = what + " " + percent_text(above.share()) + " of the tasks' time in " + places_text(job, parts) + " (" +
               short_text(seconds_of(above.part)) + " of " + short_text(seconds_of(above.time)) + " s)";
  describe(cause, parts);
  found.causes.push_back(std::move(cause));
  return found;
}

std::optional<int64_t> known(const Counts &counts, Count count) {
  return counts.has(count) ? std::optional(counts.of(count)) : std::nullopt;
}

double sum_of(const RuleJob &job, const std::vector<StagePart> &stages, Count count) {
  double sum = 0;
  for (const StagePart &one : stages)
    for (const uint32_t task : one.tasks) sum += static_cast<double>(job.of(task).counts.or_zero(count));
  return sum;
}

// Bytes per nanosecond with which the job's tasks write their shuffle; 0: they write too little to tell.
double shuffle_speed(const RuleJob &job) {
  constexpr double kEnough = 1 << 20;
  double bytes = 0, time = 0;
  for (const uint32_t task : job.tasks().order()) {
    const Counts &counts = job.of(task).counts;
    if (counts.or_zero(Count::write_ns) <= 0) continue;
    bytes += static_cast<double>(counts.or_zero(Count::written_bytes));
    time += static_cast<double>(counts.of(Count::write_ns));
  }
  return bytes < kEnough ? 0 : bytes / time;
}

// Time of the merge of a map's spills; nothing if it wrote its records once only, because then it merged nothing.
std::optional<int64_t> merge_of_spills(const RuleJob &job, uint32_t task) {
  constexpr double kWrittenTwice = 2;
  const Counts &counts = job.of(task).counts;
  if (counts.or_zero(Count::output_records) <= 0 || !counts.has(Count::spilled_records)) return std::nullopt;
  const double written =
      static_cast<double>(counts.of(Count::spilled_records)) / static_cast<double>(counts.of(Count::output_records));
  return written < kWrittenTwice ? 0 : job.phase_time(task, "merge");
}

std::optional<int64_t> delay_of(const RuleJob &job, uint32_t task) {
  const Counts &counts = job.of(task).counts;
  if (!counts.has(Count::run_ns) || job.is_first_of_stage(task)) return std::nullopt;
  return job.time(task) - counts.of(Count::run_ns) - counts.or_zero(Count::deserialize_ns) - counts.or_zero(Count::serialize_ns) -
         job.phase_time(task, "result-fetch");
}

std::optional<int64_t> python_of(const RuleJob &job, uint32_t task) {
  const StageSpan *stage = job.span_of(job.of(task).stage);
  const Counts &counts = job.of(task).counts;
  if (stage == nullptr || !stage->has_python || !counts.has(Count::run_ns) || !counts.has(Count::cpu_ns)) return std::nullopt;
  return counts.of(Count::run_ns) - counts.of(Count::cpu_ns) - std::max<int64_t>(job.of(task).gc_ms, 0) * 1'000'000 -
         counts.or_zero(Count::fetch_wait_ns) - counts.or_zero(Count::write_ns);
}

}  // namespace

Measured garbage_collection(const RuleJob &job, const Rule &rule) {
  const auto part = [&](uint32_t task) {
    const int64_t ms = job.of(task).gc_ms;
    return ms == kUnknown ? std::nullopt : std::optional(ms * 1'000'000);
  };
  return measure(job, rule, "garbage collection takes", part, [&](Cause &cause, const std::vector<StagePart> &stages) {
    if (job.is_spark()) {
      cause.advice.push_back(more_executor_memory(job));
      return;
    }
    const std::string &stage = job.data().name(stages.front().stage);
    if (stage != "map" && stage != "reduce") return;
    cause.advice.push_back({.action = "double the -Xmx in mapreduce." + stage + ".java.opts, and mapreduce." + stage +
                                      ".memory.mb if the container is too small for it"});
  });
}

Measured spill(const RuleJob &job, const Rule &rule) {
  const double speed = shuffle_speed(job);
  const auto part = [&](uint32_t task) -> std::optional<int64_t> {
    if (!job.is_spark()) return merge_of_spills(job, task);
    const std::optional<int64_t> bytes = known(job.of(task).counts, Count::spilled_bytes);
    if (!bytes || (*bytes > 0 && speed <= 0)) return std::nullopt;
    // Written and read once; the rest of the task's time cannot be longer than its run time.
    const double time = *bytes == 0 ? 0 : 2 * static_cast<double>(*bytes) / speed;
    return std::min(std::llround(time), static_cast<long long>(job.of(task).counts.or_zero(Count::run_ns)));
  };
  const std::string what = job.is_spark() ? "writing and reading spilled data takes about" : "merging several spills takes";
  return measure(job, rule, what, part, [&](Cause &cause, const std::vector<StagePart> &stages) {
    if (!job.is_spark()) {
      cause.advice.push_back(more_memory(job, "mapreduce.task.io.sort.mb", "100"));
      return;
    }
    const double bytes = sum_of(job, stages, Count::spilled_bytes), memory = sum_of(job, stages, Count::spilled_memory);
    cause.evidence.push_back("its tasks spilled " + size_text(memory) + " of memory as " + size_text(bytes) +
                             " on disk; shuffle data is written at " + size_text(speed * 1e9) + "/s");
    cause.advice.push_back(more_executor_memory(job));
    cause.advice.push_back(more_partitions(job, stages.front().stage, 2 * stages.front().tasks.size()));
  });
}

Measured scheduler_delay(const RuleJob &job, const Rule &rule) {
  return measure(
      job, rule, "scheduler delay takes", [&](uint32_t task) { return delay_of(job, task); },
      [&](Cause &cause, const std::vector<StagePart> &) {
        cause.evidence.emplace_back(
            "the time between the driver and the executors, without the first task of each stage in a slot");
        cause.advice.push_back({.action = "use fewer and longer tasks, or give the driver more cores (spark.driver.cores)"});
      });
}

Measured python_workers(const RuleJob &job, const Rule &rule) {
  return measure(
      job, rule, "Python workers take", [&](uint32_t task) { return python_of(job, task); },
      [&](Cause &cause, const std::vector<StagePart> &stages) {
        cause.evidence.push_back(
            "of " + short_text(seconds_of(sum_of(job, stages, Count::run_ns))) + " s run time, this is not CPU time of the JVM (" +
            short_text(seconds_of(sum_of(job, stages, Count::cpu_ns))) + " s), garbage collection, fetch or write");
        const char *key = "spark.sql.execution.pythonUDF.arrow.enabled";
        // The default depends on the version of Spark.
        if (job.setting(key) == "false") cause.advice.push_back({.setting = key, .now = "false", .proposed = "true"});
        cause.advice.push_back({.action = "replace Python functions by built-in functions, which run in the JVM"});
      });
}

Measured deserialization(const RuleJob &job, const Rule &rule) {
  const auto part = [&](uint32_t task) {
    return job.is_first_of_stage(task) ? std::nullopt : known(job.of(task).counts, Count::deserialize_ns);
  };
  return measure(job, rule, "deserialization of the task's code takes", part, [&](Cause &cause, const std::vector<StagePart> &) {
    cause.evidence.emplace_back("without the first task of each stage in a slot, which loads classes");
    cause.advice.push_back({.action = "send large objects in functions once as broadcast variables"});
  });
}

Measured results(const RuleJob &job, const Rule &rule) {
  const auto part = [&](uint32_t task) -> std::optional<int64_t> {
    const std::optional<int64_t> time = known(job.of(task).counts, Count::serialize_ns);
    return !time || job.is_first_of_stage(task) ? std::nullopt : std::optional(*time + job.phase_time(task, "result-fetch"));
  };
  return measure(job, rule, "sending results to the driver takes", part, [&](Cause &cause, const std::vector<StagePart> &stages) {
    cause.evidence.push_back("the results have " + size_text(sum_of(job, stages, Count::result_bytes)));
    cause.advice.push_back({.action = "aggregate on the executors, or write the result to files, instead of collect()"});
  });
}

Measured fetch_wait(const RuleJob &job, const Rule &rule) {
  return measure(
      job, rule, "waiting for shuffle data takes", [&](uint32_t task) { return known(job.of(task).counts, Count::fetch_wait_ns); },
      [&](Cause &cause, const std::vector<StagePart> &stages) {
        cause.evidence.push_back(size_text(sum_of(job, stages, Count::remote_shuffled)) + " came from other executors, " +
                                 size_text(sum_of(job, stages, Count::shuffled_bytes)) + " from the executor itself");
        cause.advice.push_back({.action = "shuffle fewer bytes (filter and aggregate earlier), or look for a slow node"});
      });
}

}  // namespace atalaya::jobs
