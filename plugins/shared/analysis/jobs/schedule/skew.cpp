// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/schedule/skew.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"

namespace atalaya::jobs {
namespace {

constexpr double kMinFactor = 2.5;                    // minimum ratio to the median bytes
constexpr evidence::Prior kHealthyShares = {0.3, 4};  // parts of evenly distributed data differ by about 30 %
constexpr size_t kMinForSkew = 3;                     // tasks
constexpr double kMaxSkewed = 0.2;                    // maximum share of a stage's tasks: a larger part is not an exception
constexpr double kMinFailing = 0.2;                   // minimum share of failed attempts on a node
constexpr double kTimesOthers = 2;                    // minimum ratio to the share of failed attempts on the other nodes
constexpr size_t kMinFailed = 2;

bool has_bytes(const Group &group) {
  return group.phase == 0 && !group.by_time && group.entries.size() >= kMinForSkew;
}

double median_bytes(const Group &group) {
  std::vector<double> bytes;
  for (const Entry &entry : group.entries) bytes.push_back(static_cast<double>(entry.bytes));
  return evidence::median(std::move(bytes));
}

// The entries with many more bytes than the others, in descending order.
std::vector<const Entry *> skewed(const Group &group, double usual, size_t stages) {
  std::vector<double> logs;
  for (const Entry &entry : group.entries) logs.push_back(-std::log(static_cast<double>(entry.bytes)));
  const auto count = static_cast<double>(logs.size());
  const auto maximum = std::max<size_t>(1, static_cast<size_t>(kMaxSkewed * count));
  const std::vector<double> chances = evidence::chances_below(logs, maximum, kHealthyShares);
  std::vector<const Entry *> found;
  for (size_t i = 0; i < group.entries.size(); ++i)
    if (evidence::is_beyond_chance(chances[i], logs.size() * stages) &&
        static_cast<double>(group.entries[i].bytes) >= kMinFactor * usual)
      found.push_back(&group.entries[i]);
  std::sort(found.begin(), found.end(), [](const Entry *a, const Entry *b) { return a->bytes > b->bytes; });
  return found;
}

// The seconds by which the job would be shorter if these tasks had the usual bytes: their own code takes less time in proportion,
// but no task takes less than the usual time. Tasks that waited behind them start earlier.
double saved_without(const RuleJob &job, const std::vector<const Entry *> &skewed, const Group &group, double usual) {
  std::vector<double> all;
  for (const Entry &entry : group.entries) all.push_back(static_cast<double>(entry.time_ns));
  const double usual_time = evidence::median(std::move(all));
  std::vector<int64_t> times = job.replay().times();
  for (const Entry *entry : skewed) {
    const auto time = static_cast<double>(times[entry->task]);
    const Counts &counts = job.of(entry->task).counts;
    const double run = counts.has(Count::run_ns) ? std::min(time, static_cast<double>(counts.of(Count::run_ns))) : time;
    const double with_usual = time - run + run * usual / static_cast<double>(entry->bytes);
    times[entry->task] = std::llround(std::max(with_usual, std::min(time, usual_time)));
  }
  return job.replay().saved_with(times);
}

std::string task_name(const Task &task) {
  return std::string(task.task().empty() ? task.attempt() : task.task());
}

void describe(Finding &finding, const JobData &data, const std::vector<const Entry *> &entries, double usual) {
  const auto factor = [&](const Entry &entry) { return short_text(static_cast<double>(entry.bytes) / usual); };
  const Task &largest = data.tasks[entries.front()->task];
  const std::string one = stage_text(data, finding.stage) + "task " + task_name(largest), stage = stage_text(data, finding.stage);
  finding.summary =
      "skew: " + (entries.size() == 1 ? one + " has " : std::to_string(entries.size()) + " " + stage + "tasks have ") +
      (entries.size() == 1 ? "" : factor(*entries.back()) + " to ") + factor(*entries.front()) +
      " times the bytes of the stage's median task; with the median bytes, the job would take " + short_text(finding.seconds) +
      " s (" + percent_text(finding.lost) + ") less time";
  constexpr size_t kMaxNamed = 5;
  for (size_t i = 0; i < std::min(entries.size(), kMaxNamed); ++i) {
    const Task &task = data.tasks[entries[i]->task];
    finding.evidence.push_back(task_name(task) + " on " + data.name(task.host) + ": " +
                               size_text(static_cast<double>(entries[i]->bytes)) + ", " + factor(*entries[i]) +
                               " times the median of " + size_text(usual) + ", in " +
                               short_text(static_cast<double>(entries[i]->time_ns) / 1e9) + " s");
  }
}

// Attempts of a job on a node.
struct Attempts {
  std::map<uint32_t, std::vector<uint32_t>> failed;  // by stage
  std::map<uint32_t, size_t> all;
  size_t failures = 0, count = 0;
  double failed_ns = 0, time_ns = 0;

  void add(const Task &task, uint32_t number) {
    const auto time = static_cast<double>(std::max<int64_t>(task.work.duration_ns, 0));
    ++count;
    ++all[task.stage];
    time_ns += time;
    if (task.outcome != Outcome::failed) return;
    ++failures;
    failed[task.stage].push_back(number);
    failed_ns += time;
  }
  double share() const { return count == 0 ? 0 : static_cast<double>(failures) / static_cast<double>(count); }
};

// Attempts on the other nodes.
struct Part {
  double failed = 0, count = 0;
  void add(size_t more_failed, size_t more) {
    failed += static_cast<double>(more_failed);
    count += static_cast<double>(more);
  }
  double rate() const { return (failed + 0.5) / (count + 1); }  // smoothed: not 0 for a few attempts without a failure
};

class FailingNodes {
 public:
  FailingNodes(const JobData &data, const std::vector<Group> &groups) : data_(data), groups_(groups) {
    for (uint32_t i = 0; i < data.tasks.size(); ++i) {
      const Task &task = data.tasks[i];
      if (task.host == 0 || (task.outcome != Outcome::failed && !task.has_ended_well())) continue;
      jobs_[task.job][task.host].add(task, i);
    }
  }

  std::vector<Finding> find() {
    for (const auto &[job, nodes] : jobs_)
      for (const auto &[host, own] : nodes)
        if (own.failures >= kMinFailed && own.share() >= kMinFailing) look(job, host, own, nodes);
    return std::move(found_);
  }

 private:
  using Nodes = std::map<uint32_t, Attempts>;

  void look(uint32_t job, uint32_t host, const Attempts &own, const Nodes &nodes) {
    Part all;
    std::map<uint32_t, Part> stages;
    for (const auto &[other, attempts] : nodes) {
      if (other == host) continue;
      all.add(attempts.failures, attempts.count);
      for (const auto &[stage, count] : attempts.all) stages[stage].count += static_cast<double>(count);
      for (const auto &[stage, failed] : attempts.failed) stages[stage].failed += static_cast<double>(failed.size());
    }
    if (all.count == 0) return;
    // The expected failures by stage, at the rate of the other nodes. A binomial distribution with the average of several
    // probabilities has a heavier tail, so the test is conservative.
    double expected = 0;
    for (const auto &[stage, count] : own.all) expected += static_cast<double>(count) * stages[stage].rate();
    const double chance = evidence::binomial_tail(own.failures, own.count, expected / static_cast<double>(own.count));
    const double others_share = all.failed / all.count;
    if (own.share() < kTimesOthers * others_share || !evidence::is_beyond_chance(chance, nodes.size())) return;
    add(job, host, own, chance);
    Finding &finding = found_.back();
    finding.summary = "attempts fail on node " + data_.name(host) + ": " + std::to_string(own.failures) + " of its " +
                      std::to_string(own.count) + " attempts failed (" + percent_text(own.share()) + "), " +
                      short_text(all.failed) + " of " + short_text(all.count) + " on the other nodes (" +
                      percent_text(others_share) + ")";
    finding.evidence.push_back("the failed attempts took " + percent_text(finding.lost) + " of the time of its attempts; " +
                               "their tasks had to be run again");
  }

  void add(uint32_t job, uint32_t host, const Attempts &own, double chance) {
    const auto worst_stage = std::max_element(own.failed.begin(), own.failed.end(),
                                              [](const auto &a, const auto &b) { return a.second.size() < b.second.size(); });
    Finding finding{.job = job, .stage = worst_stage->first, .host = host};
    for (size_t i = 0; i < groups_.size(); ++i)
      if (groups_[i].job == job && groups_[i].stage == finding.stage && groups_[i].phase == 0) finding.group = i;
    for (const auto &[stage, tasks] : own.failed) finding.tasks.insert(finding.tasks.end(), tasks.begin(), tasks.end());
    finding.slower = std::numeric_limits<double>::quiet_NaN();
    finding.chance = chance;
    finding.lost = own.time_ns > 0 ? own.failed_ns / own.time_ns : 0;
    finding.reason = Reason::failures;
    found_.push_back(std::move(finding));
  }

  const JobData &data_;
  const std::vector<Group> &groups_;
  std::map<uint32_t, Nodes> jobs_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> find_skew(const RuleJob &job, const std::vector<Group> &groups, const std::vector<size_t> &of_job) {
  const auto stages =
      static_cast<size_t>(std::count_if(of_job.begin(), of_job.end(), [&](size_t number) { return has_bytes(groups[number]); }));
  std::vector<Finding> found;
  for (const size_t number : of_job) {
    const Group &group = groups[number];
    if (!has_bytes(group)) continue;
    const double usual = median_bytes(group);
    const std::vector<const Entry *> entries = skewed(group, usual, stages);
    if (entries.empty()) continue;
    Finding finding{.kind = Finding::Kind::tasks, .job = group.job, .stage = group.stage, .group = number};
    finding.seconds = saved_without(job, entries, group, usual);
    if (finding.seconds < job.least()) continue;
    for (const Entry *entry : entries) finding.tasks.push_back(entry->task);
    finding.slower = std::numeric_limits<double>::quiet_NaN();
    finding.lost = finding.seconds / job.seconds();
    finding.reason = Reason::skew;
    describe(finding, job.data(), entries, usual);
    found.push_back(std::move(finding));
  }
  return found;
}

std::vector<Finding> find_failing(const JobData &data, const std::vector<Group> &groups) {
  return FailingNodes(data, groups).find();
}

}  // namespace atalaya::jobs
