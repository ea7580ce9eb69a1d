// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/rules/rule_job.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plugins/shared/analysis/jobs/findings/detect.h"
#include "plugins/shared/analysis/jobs/findings/findings.h"

namespace atalaya::jobs {
namespace {

constexpr double kMinSeconds = 1;  // shorter effects differ from run to run

}  // namespace

RuleJob::RuleJob(JobTasks tasks, double seconds) : tasks_(std::move(tasks)), slots_(tasks_), seconds_(seconds) {
  const Job &job = data().jobs[tasks_.job()];
  const auto setting = data().settings.lower_bound(std::pair(tasks_.job(), std::string()));
  has_settings_ = setting != data().settings.end() && setting->first.first == tasks_.job();
  for (const auto &[executor, count] : slots_.counts()) slot_count_ += count;
  std::map<uint32_t, size_t> places;
  for (const uint32_t i : tasks_.order()) {
    end_ns_ = std::max(end_ns_, tasks_.end(i));
    if (!of(i).has_ended_well()) continue;
    const auto [place, is_new] = places.try_emplace(of(i).stage, stages_.size());
    if (is_new) stages_.push_back({of(i).stage, {}});
    stages_[place->second].tasks.push_back(i);
  }
  if (job.has_span && job.work.duration_ns > 0) end_ns_ = std::max(end_ns_, job.work.end_ns());
}

int64_t RuleJob::phase_time(uint32_t task, std::string_view phase) const {
  const std::vector<Phase> &phases = data().phases;
  const auto first =
      std::lower_bound(phases.begin(), phases.end(), task, [](const Phase &one, uint32_t of) { return one.task < of; });
  for (auto one = first; one != phases.end() && one->task == task; ++one)
    if (data().name(one->phase) == phase) return std::max<int64_t>(one->busy_ns, 0);
  return 0;
}

const StageSpan *RuleJob::span_of(uint32_t stage) const {
  const auto found = data().stages.find({tasks_.job(), stage});
  return found == data().stages.end() ? nullptr : &found->second;
}

size_t RuleJob::slots_in(int64_t begin_ns, int64_t end_ns) const {
  size_t count = 0;
  for (const Executor &one : data().executors) {
    if (one.job != tasks_.job()) continue;
    const int64_t until = one.work.duration_ns == kUnknown ? end_ns : std::min(end_ns, one.work.end_ns());
    if (2 * (until - std::max(begin_ns, one.work.start_ns)) >= end_ns - begin_ns) count += one.slots;
  }
  return count;
}

double RuleJob::least() const {
  return std::max(kMinSeconds, kWorthwhile * from_first_task());
}

const JobReplay &RuleJob::replay() const {
  if (!replay_) replay_ = std::make_unique<JobReplay>(tasks_, seconds_);
  return *replay_;
}

std::string RuleJob::stage_name(uint32_t stage) const {
  std::string text = stage_text(data(), stage);
  if (text.empty()) return "the job";
  text.pop_back();
  const StageSpan *span = span_of(stage);
  const std::string &name = span == nullptr ? data().name(0) : data().name(span->name);
  return name.empty() || name == text ? text : text + " (" + name + ")";
}

std::optional<std::string> RuleJob::setting(std::string_view key) const {
  if (!has_settings_) return std::nullopt;
  const auto found = data().settings.find(std::pair(tasks_.job(), std::string(key)));
  return found == data().settings.end() ? "" : found->second;
}

}  // namespace atalaya::jobs
