// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/rules/find_rules.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"
#include "plugins/shared/analysis/jobs/rules/shape.h"
#include "plugins/shared/analysis/jobs/schedule/skew.h"

namespace atalaya::jobs {
namespace {

std::string amount_text(const Rule &rule, double value) {
  return std::string(rule.unit) == "%" ? percent_text(value) : short_text(value) + " " + rule.unit;
}

std::string less_time_text(double seconds, double job_seconds) {
  return "without this, the job would take up to " + short_text(seconds) + " s (" + percent_text(seconds / job_seconds) +
         ") less time";
}

Finding finding_of(const RuleJob &job, const Rule &rule, Cause cause) {
  Finding found{.kind = Finding::Kind::rule, .job = job.tasks().job(), .stage = cause.stage};
  found.rule = &rule;
  found.seconds = cause.seconds;
  found.lost = cause.seconds / job.seconds();
  found.slower = std::numeric_limits<double>::quiet_NaN();
  found.tasks = std::move(cause.tasks);
  found.advice = std::move(cause.advice);
  found.evidence = std::move(cause.evidence);
  found.summary = std::move(cause.text) + "; " + less_time_text(cause.seconds, job.seconds());
  if (job.replay().is_rough())
    found.evidence.push_back("rough: the replay of the recorded tasks takes " + short_text(job.replay().replayed()) +
                             " s, the job took " + short_text(job.seconds()) + " s");
  return found;
}

// By which the job would be shorter without the slowness that the finding describes; NaN: unknown.
double seconds_of(const RuleJob &job, const Finding &finding, const std::vector<Group> &groups) {
  std::vector<int64_t> times = job.replay().times();
  if (finding.kind == Finding::Kind::node && finding.reason != Reason::failures && !finding.is_overtaken)
    return job.replay().saved_with_usual_speed(finding.host);
  double usual = 0;  // attempts that failed, or were overtaken, are not needed
  if (finding.kind == Finding::Kind::tasks) {
    std::vector<double> all;
    for (const Entry &entry : groups[finding.group].entries) all.push_back(static_cast<double>(entry.time_ns));
    usual = evidence::median(std::move(all));
  }
  for (const uint32_t task : finding.tasks) times[task] = std::min(times[task], static_cast<int64_t>(usual));
  return job.replay().saved_with(times);
}

class Jobs {
 public:
  Jobs(const JobData &data, const std::vector<Group> &groups)
      : data_(data), ends_(std::make_shared<MapPhaseEnds>(data)), tasks_(data.jobs.size()), groups_(data.jobs.size()) {
    for (uint32_t i = 0; i < data.tasks.size(); ++i) tasks_[data.tasks[i].job].push_back(i);
    for (size_t i = 0; i < groups.size(); ++i) groups_[groups[i].job].push_back(i);
  }

  // nullptr: the job still runs, or has no tasks.
  std::unique_ptr<RuleJob> of(uint32_t job, double seconds) const {
    JobTasks tasks(data_, job, ends_, tasks_[job]);
    return seconds <= 0 || tasks.order().empty() ? nullptr : std::make_unique<RuleJob>(std::move(tasks), seconds);
  }
  const std::vector<size_t> &groups_of(uint32_t job) const { return groups_[job]; }
  size_t tasks_of(uint32_t job) const { return tasks_[job].size(); }

 private:
  const JobData &data_;
  const std::shared_ptr<const MapPhaseEnds> ends_;
  std::vector<std::vector<uint32_t>> tasks_;  // by job
  std::vector<std::vector<size_t>> groups_;
};

}  // namespace

std::string value_text(const RuleValue &value) {
  return std::string(value.rule->name) + " " + amount_text(*value.rule, value.value) + " (" +
         amount_text(*value.rule, value.rule->limit) + ")";
}

std::vector<std::string> compared_texts(const ComparedJob &job) {
  std::string compared, none, unknown;
  const auto add = [](std::string &list, const std::string &text) { list += (list.empty() ? "" : ", ") + text; };
  for (const RuleValue &one : job.rules) {
    if (std::isnan(one.value))
      add(unknown, one.rule->name);
    else if (one.value == 0)
      add(none, one.rule->name);
    else
      add(compared, value_text(one));
  }
  std::vector<std::string> texts;
  if (!compared.empty()) texts.push_back("compared with limits: " + compared);
  if (!none.empty()) texts.push_back("none: " + none);
  if (!unknown.empty()) texts.push_back("not compared, because nothing reports them: " + unknown);
  texts.push_back("a cause of " + short_text(job.least) + " s of the job or more would be listed (5 % of the " +
                  short_text(job.from_first_task) + " s from its first task to its end, at least 1 s)");
  return texts;
}

std::string saving_text(const Finding &finding, double job_seconds) {
  constexpr double kShown = 0.1;  // seconds
  const bool is_told = finding.rule != nullptr || finding.reason == Reason::skew;
  return is_told || !(finding.seconds >= kShown) ? "" : less_time_text(finding.seconds, job_seconds);
}

std::vector<ComparedJob> add_rules(std::vector<Finding> &findings, const JobData &data, const std::vector<Group> &groups,
                                   const std::vector<double> &seconds, query::Budget &budget) {
  std::vector<ComparedJob> compared;
  const Jobs jobs(data, groups);
  std::vector<std::vector<size_t>> known(data.jobs.size());
  for (size_t i = 0; i < findings.size(); ++i) known[findings[i].job].push_back(i);
  for (uint32_t number = 0; number < data.jobs.size(); ++number) {
    const std::unique_ptr<RuleJob> job = jobs.of(number, seconds[number]);
    if (!job) continue;
    budget.work(jobs.tasks_of(number));
    budget.check_time();
    std::set<Rule::EffectOf> causes;
    for (const size_t i : known[number]) {
      findings[i].seconds = seconds_of(*job, findings[i], groups);
      if (findings[i].reason == Reason::failures) causes.insert(Rule::EffectOf::failing_node);
    }
    for (Finding &finding : find_skew(*job, groups, jobs.groups_of(number))) findings.push_back(std::move(finding));
    ComparedJob &result = compared.emplace_back(ComparedJob{number, job->least(), job->from_first_task(), {}});
    for (const Rule &rule : rules()) {
      if (*rule.framework != '\0' && rule.framework != job->framework()) continue;
      Measured measured = rule.measured(*job, rule);
      result.rules.push_back({&rule, measured.value});
      if (causes.contains(rule.effect_of)) continue;
      if (!measured.causes.empty() && rule.measured == small_spark_tasks) causes.insert(Rule::EffectOf::small_tasks);
      for (Cause &cause : measured.causes) findings.push_back(finding_of(*job, rule, std::move(cause)));
    }
  }
  return compared;
}

}  // namespace atalaya::jobs
