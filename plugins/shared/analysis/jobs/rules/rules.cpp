// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/rules/rule.h"

#include "plugins/shared/analysis/jobs/rules/flow.h"
#include "plugins/shared/analysis/jobs/rules/parts.h"
#include "plugins/shared/analysis/jobs/rules/shape.h"

namespace atalaya::jobs {
namespace {

constexpr const char *kOwn = "Atalaya";

constexpr const char *kShare = "share of the tasks' time";

constexpr Rule kRules[] = {
    {"garbage collection", "", kShare, "%", 0.1,
     "the web page of Spark marks executors above 10 %; Dr. Elephant: moderate from 10 %", garbage_collection},
    {"spill", "", kShare, "%", 0.05, kOwn, spill},
    {"too few partitions", "spark", "share of the slots without a task of the stage", "%", 0.5, "DataFlint: idle cores above 50 %",
     few_partitions},
    {"small tasks", "spark", "run time of a task", "ms", 200, "tuning guide of Spark: tasks as short as 200 ms are efficient",
     small_spark_tasks},
    {"small MapReduce tasks", "hadoop", "CPU time of a task", "ms", 500, kOwn, small_mapreduce_tasks},
    {"driver alone", "spark", "share of the time from the first task", "%", 0.2, kOwn, driver_gaps},
    {"scheduler delay", "spark", kShare, "%", 0.4, kOwn, scheduler_delay, Rule::EffectOf::small_tasks},
    {"Python workers", "spark", kShare, "%", 0.5, kOwn, python_workers},
    {"deserialization", "spark", kShare, "%", 0.25, kOwn, deserialization, Rule::EffectOf::small_tasks},
    {"results", "spark", kShare, "%", 0.25, kOwn, results, Rule::EffectOf::small_tasks},
    {"shuffle fetch wait", "spark", kShare, "%", 0.25, kOwn, fetch_wait},
    {"repeated work", "", "share of the attempts' time", "%", 0.05, kOwn, repetition, Rule::EffectOf::failing_node},
};

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

std::string advice_text(const Advice &advice) {
  std::string text;
  if (!advice.setting.empty()) {
    text = "set " + advice.setting + " to " + advice.proposed;
    if (!advice.now.empty()) text += " (now " + advice.now + ")";
    if (!advice.action.empty()) text += ", ";
  }
  return text + advice.action;
}

}  // namespace atalaya::jobs
