// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/rules/settings.h"

#include <algorithm>
#include <cstdint>

#include "core/base/text/text.h"

namespace atalaya::jobs {
namespace {

bool reads_shuffle(const RuleJob &job, uint32_t stage) {
  const auto tasks =
      std::find_if(job.stages().begin(), job.stages().end(), [&](const RuleStage &one) { return one.stage == stage; });
  return tasks != job.stages().end() && std::any_of(tasks->tasks.begin(), tasks->tasks.end(), [&](uint32_t task) {
           const Counts &counts = job.of(task).counts;
           return counts.or_zero(Count::shuffled_bytes) + counts.or_zero(Count::remote_shuffled) > 0;
         });
}

}  // namespace

std::string doubled(std::string_view size) {
  const size_t digits = std::min(size.find_first_not_of("0123456789"), size.size());
  const auto number = core::number_from<int64_t>(size.substr(0, digits));
  if (!number || *number <= 0 || *number > INT64_MAX / 2) return "";
  const std::string_view unit = size.substr(digits);
  if ((unit == "m" || unit == "M") && *number % 512 == 0) return std::to_string(*number / 512) + "g";
  return std::to_string(2 * *number).append(unit);
}

Advice more_memory(const RuleJob &job, const std::string &key, const std::string &standard) {
  const std::optional<std::string> now = job.setting(key);
  if (!now) return {.action = "raise " + key};
  if (now->empty()) return {.setting = key, .now = standard + ", the default", .proposed = doubled(standard)};
  return {.setting = key, .now = *now, .proposed = doubled(*now)};
}

Advice more_executor_memory(const RuleJob &job) {
  const bool is_local = std::any_of(job.data().executors.begin(), job.data().executors.end(), [&](const Executor &one) {
    return one.job == job.tasks().job() && job.data().name(one.executor) == "driver";
  });
  return more_memory(job, is_local ? "spark.driver.memory" : "spark.executor.memory", "1g");
}

Advice more_partitions(const RuleJob &job, uint32_t stage, size_t count) {
  const StageSpan *span = job.span_of(stage);
  const bool is_sql = span != nullptr && span->is_sql;
  if (is_sql && !reads_shuffle(job, stage))
    return {.action = "divide the input of " + job.stage_name(stage) + " into " + std::to_string(count) +
                      " partitions: repartition(" + std::to_string(count) + ") or a smaller spark.sql.files.maxPartitionBytes"};
  const char *key = is_sql ? "spark.sql.shuffle.partitions" : "spark.default.parallelism";
  return {.setting = key,
          .now = job.setting(key).value_or(""),
          .proposed = std::to_string(count),
          .action = "or repartition(" + std::to_string(count) + ") before " + job.stage_name(stage)};
}

}  // namespace atalaya::jobs
