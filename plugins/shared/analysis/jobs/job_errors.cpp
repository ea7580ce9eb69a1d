// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/job_errors.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
namespace atalaya::jobs {
namespace {

constexpr size_t kMaxReasons = 10, kMaxAttempts = 5;  // maximum reasons of a job, and attempts listed per reason

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

// Replaces numbers: errors that differ only in numbers, such as ids, have the same cause.
std::string with_equal_numbers(std::string_view text) {
  std::string out;
  for (const char c : first_line(text)) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) out += c;
    if (is_digit && !out.ends_with('0')) out += '0';
  }
  return out;
}

// MapReduce's text of a failed job names its failed task and not the cause (JobImpl.TaskCompletedTransition).
bool is_summary(std::string_view error) {
  return error.starts_with("Task failed task_");
}

std::string verb_of(Outcome outcome) {
  return outcome == Outcome::killed ? " killed" : " failed";
}

class Reasons {
 public:
  Reasons(const JobData &data, uint32_t job) : data_(data), outcome_(data.jobs[job].outcome) {
    for (const JobError &one : data.errors)
      if (one.job == job && is_shown(one)) groups_[key_of(one)].push_back(&one);
  }

  std::vector<std::string> take() const {
    std::vector<std::string> reasons, summaries;
    std::string before;
    for (const auto &[key, group] : groups_) {
      const std::string &error = data_.name(group.front()->error);
      // Frameworks repeat the error of a stage as that of its job: it is listed once.
      if (group.front()->of == JobError::Of::stage && before.find(first_line(error)) != std::string::npos) continue;
      if (group.front()->of == JobError::Of::job && is_summary(error)) {
        summaries.push_back(error);
        continue;
      }
      if (reasons.size() == kMaxReasons) {
        reasons.push_back("more reasons: --format json has all");
        break;
      }
      reasons.push_back(before = title_of(group) + error);
    }
    reasons.insert(reasons.end(), summaries.begin(), summaries.end());  // causes first
    return reasons;
  }

 private:
  using Group = std::vector<const JobError *>;
  using Key = std::tuple<JobError::Of, Outcome, uint32_t, std::string>;  // with its stage and error

  bool is_shown(const JobError &one) const { return one.outcome != Outcome::killed || outcome_ != Outcome::succeeded; }

  Key key_of(const JobError &one) const { return {one.of, one.outcome, one.stage, with_equal_numbers(data_.name(one.error))}; }

  std::string title_of(const Group &group) const {
    const JobError &first = *group.front();
    switch (first.of) {
      case JobError::Of::job:
        return "";
      case JobError::Of::stage:
        return "stage " + data_.name(first.stage) + verb_of(first.outcome) + ": ";
      case JobError::Of::executor:
        return list(group, &JobError::executor, "executor", "") + " lost" + hosts_of(group) + ": ";
      case JobError::Of::attempt:
        break;
    }
    const std::string of = first.stage == 0 ? "" : " of stage " + data_.name(first.stage);
    return list(group, &JobError::attempt, "attempt", of) + verb_of(first.outcome) + hosts_of(group) + ": ";
  }

  // "4 attempts of stage 0 (5, 9, 17, 18)", "attempt 5 of stage 0"
  std::string list(const Group &group, uint32_t JobError::*member, const std::string &noun, const std::string &of) const {
    if (group.size() == 1) return noun + " " + data_.name(group.front()->*member) + of;
    std::string ids;
    for (size_t i = 0; i < std::min(group.size(), kMaxAttempts); ++i) ids += (i == 0 ? "" : ", ") + data_.name(group[i]->*member);
    return std::to_string(group.size()) + " " + noun + "s" + of + " (" + ids + (group.size() > kMaxAttempts ? ", ...)" : ")");
  }

  std::string hosts_of(const Group &group) const {
    std::set<std::string> hosts;
    for (const JobError *one : group)
      if (one->host != 0) hosts.insert(data_.name(one->host));
    std::string text;
    size_t shown = 0;
    for (const std::string &host : hosts)
      if (++shown <= kMaxAttempts) text += (shown == 1 ? " on " : ", ") + host;
    return text + (hosts.size() > kMaxAttempts ? ", ..." : "");
  }

  const JobData &data_;
  const Outcome outcome_;
  std::map<Key, Group> groups_;
};

}  // namespace

std::vector<BrokenJob> broken_jobs(const JobData &data) {
  std::vector<BrokenJob> broken;
  for (uint32_t i = 0; i < data.jobs.size(); ++i) {
    const Outcome outcome = data.jobs[i].outcome;
    BrokenJob job{i, outcome_text(outcome), Reasons(data, i).take()};
    const bool is_bad = outcome == Outcome::failed || outcome == Outcome::killed;
    if (is_bad && job.reasons.empty()) job.reasons.emplace_back("its history has no reason");
    if (is_bad || !job.reasons.empty()) broken.push_back(std::move(job));
  }
  return broken;
}

std::string_view part_text(JobError::Of of) {
  constexpr std::array<std::string_view, 4> kTexts = {"job", "stage", "executor", "attempt"};
  return kTexts[static_cast<size_t>(of)];
}

}  // namespace atalaya::jobs
