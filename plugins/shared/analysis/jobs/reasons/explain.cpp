// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/reasons/explain.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/jobs/model/map_phase_ends.h"
#include "plugins/shared/analysis/jobs/model/phases.h"
#include "plugins/shared/analysis/jobs/read/measurement_table.h"
#include "plugins/shared/analysis/jobs/read/read_jobs.h"
#include "plugins/shared/analysis/jobs/reasons/explain_tasks.h"

namespace atalaya::jobs {
namespace {

// Limits of the data that is read for a finding's tasks and the compared ones.
constexpr size_t kMaxReadAgain =
    500'000;  // maximum spans to read counters, because that reads all spans again; with more, counters are ignored
constexpr size_t kMaxOwn = 400, kMaxOthers = 800, kMaxHosts = 8;
constexpr size_t kMaxParts = 50;  // maximum windows of one phase of a task

// Data for all findings of a job; it is read once.
class JobFacts {
 public:
  JobFacts(const JobData &data, const MapPhaseEnds &map_phase_ends, uint32_t job, store::Store &store, query::Budget &budget)
      : data_(data), map_phase_ends_(map_phase_ends), job_(job), store_(store), budget_(budget) {
    std::set<uint32_t> names;
    for (const Task &task : data.tasks)
      if (task.job == job) names.insert(task.host);
    for (const uint32_t name : names) hosts_.insert(data.name(name));
  }
  // All tasks of the group, including those of unknown speed.
  std::vector<Entry> entries_of(const std::vector<uint32_t> &tasks) const {
    std::vector<Entry> entries;
    for (const uint32_t number : tasks) {
      const Task &task = data_.tasks[number];
      entries.push_back(
          {.task = number, .start_ns = map_phase_ends_.begin(task), .time_ns = task.work.end_ns() - map_phase_ends_.begin(task)});
    }
    return entries;
  }
  Metrics metrics(const std::vector<Windows> &sets) const { return Metrics::read(sets, hosts_, store_, budget_); }
  // Reads the counters of these tasks on demand.
  void add(const std::vector<uint32_t> &tasks) { tasks_.insert(tasks.begin(), tasks.end()); }
  // The counters; nullptr if reading them would exceed the budget: the rest of the explanation does not need them.
  const Counters *counters() {
    if (!checked_counters_) find_counters();
    return counters_ ? &*counters_ : nullptr;
  }
  void forget_counters() { counters_.reset(); }
  const query::Budget &budget() const { return budget_; }
  const std::set<std::string> &notes() const { return notes_; }

 private:
  void find_counters() {
    checked_counters_ = true;
    if (data_.tasks.size() + data_.phases.size() > kMaxReadAgain) return;
    query::Budget part = budget_.half();
    try {
      counters_ = read_counters(data_, {tasks_.begin(), tasks_.end()}, store_, part);
    } catch (const query::TooMuch &much) {
      notes_.insert("job " + data_.name(data_.jobs[job_].id) + ": counters of tasks were not read: " + much.what());
    }
  }

  const JobData &data_;
  const MapPhaseEnds &map_phase_ends_;
  const uint32_t job_;
  store::Store &store_;
  query::Budget &budget_;
  std::set<std::string> hosts_, notes_;
  std::set<uint32_t> tasks_;
  bool checked_counters_ = false;
  std::optional<Counters> counters_;
};

class Explainer {
 public:
  Explainer(Finding &finding, const JobData &data, const std::vector<Group> &groups, JobFacts &facts)
      : finding_(finding), data_(data), groups_(groups), group_(groups[finding.group]), facts_(facts) {
    choose();
    for (const Entry &entry : own_) append(sides_.own, rows_.emplace_back(windows_of(entry)));
    for (const Entry &entry : others_) append(sides_.others, rows_.emplace_back(windows_of(entry)));
    sides_.node = data_.name(finding_.host);
    sides_.needs = phase_needs(data_, groups_, group_, finding_.phase);
    sides_.tasks = {gc_share(true), gc_share(false), remote_reads(data_, group_, is_own())};
    sides_.slower = finding_.is_overtaken ? 0 : finding_.slower;
    facts.add(tasks());
  }

  Windows windows() const {
    Windows windows = sides_.own;
    append(windows, sides_.others);
    return windows;
  }
  std::string where() const { return "node " + data_.name(finding_.host) + ", " + name_of(data_, group_); }

  // `windows` is the index of a set of windows in the metrics.
  void explain(const Metrics &metrics, size_t set) {
    sides_.set = set;
    finding_.checks = check_all(metrics, sides_);
    finding_.reason = reason_of(finding_.checks);
    finding_.index = "ipc";
    correlate_ipc(metrics);
    if (finding_.metrics.all.empty() && !finding_.is_overtaken) correlate_speed(metrics);
    if (finding_.metrics.all.empty()) finding_.index.clear();
    finding_.leading = leading_resource(finding_.metrics);
    finding_.summary = subject() + conclusion(finding_.checks);
    if (finding_.reason == Reason::none && !finding_.metrics.all.empty())
      finding_.summary +=
          "; the metrics with the largest correlation with its speed are of " + std::string(resource_text(finding_.leading));
  }

  // The budget is used: keeps the results so far, without the others.
  void stay_without_reason() {
    finding_.index.clear();
    finding_.metrics = {};
    finding_.summary =
        subject() + (finding_.checks.empty() ? "the search for the reason exceeds the limits" : conclusion(finding_.checks));
  }

 private:
  static void append(Windows &all, const Windows &more) { all.insert(all.end(), more.begin(), more.end()); }

  // Selects the slow tasks of the node, and tasks of some other nodes for comparison.
  void choose() {
    std::vector<std::pair<size_t, uint32_t>> maximum;
    for (const NodeSpeed &node : group_.nodes)
      if (node.host != finding_.host && node.host != 0) maximum.emplace_back(node.tasks, node.host);
    std::sort(maximum.begin(), maximum.end(), [](const auto &a, const auto &b) { return a > b; });
    std::set<uint32_t> chosen;
    for (size_t i = 0; i < std::min(maximum.size(), kMaxHosts); ++i) chosen.insert(maximum[i].second);
    for (const Entry &entry : group_.entries) {
      const uint32_t host = data_.tasks[entry.task].host;
      if (host == finding_.host && entry.grade <= Grade::lower && !finding_.is_overtaken) own_.push_back(entry);
      if (chosen.contains(host)) others_.push_back(entry);
    }
    if (finding_.is_overtaken) own_ = facts_.entries_of(finding_.tasks);
    own_ = evidence::evenly_spaced(own_, kMaxOwn);
    others_ = evidence::evenly_spaced(others_, kMaxOthers);
  }

  // The windows of a phase: only its spans (such as several spills), because between them the task did other work.
  Windows windows_of(const Entry &entry) const {
    const std::string &host = data_.name(data_.tasks[entry.task].host);
    const Part key{entry.task, group_.phase};
    const auto [begin, end] = std::equal_range(data_.parts.begin(), data_.parts.end(), key, [](const Part &a, const Part &b) {
      return std::tie(a.task, a.phase) < std::tie(b.task, b.phase);
    });
    if (begin == end) return {{host, entry.start_ns, entry.start_ns + entry.time_ns}};
    Windows windows;
    for (auto part = begin; part != end; ++part)
      if (part->end_ns > entry.start_ns) windows.push_back({host, std::max(part->begin_ns, entry.start_ns), part->end_ns});
    return evidence::evenly_spaced(windows, kMaxParts);
  }

  std::optional<double> gc_share(bool own) const {
    double time = 0, gc = 0;
    for (const Entry &entry : group_.entries) {
      const Task &task = data_.tasks[entry.task];
      if (task.host == 0 || (task.host == finding_.host) != own || task.gc_ms == kUnknown) continue;
      gc += static_cast<double>(task.gc_ms) * 1e6;
      time += static_cast<double>(task.work.duration_ns);
    }
    return time > 0 ? std::optional(std::min(1.0, gc / time)) : std::nullopt;
  }

  // By task: whether it ran on the finding's node.
  std::vector<bool> is_own() const {
    std::vector<bool> own(data_.tasks.size(), false);
    for (const Entry &entry : group_.entries) own[entry.task] = data_.tasks[entry.task].host == finding_.host;
    return own;
  }

  std::vector<uint32_t> tasks() const {
    std::vector<uint32_t> tasks;
    for (const auto *entries : {&own_, &others_})
      for (const Entry &entry : *entries) tasks.push_back(entry.task);
    return tasks;
  }

  // Correlates samples of metrics in the windows of the slow tasks.
  void correlate_ipc(const Metrics &metrics) {
    constexpr size_t kMinSamples = 8;
    Samples samples = samples_of(metrics, sides_.own, kMaxOwn + kMaxOthers, facts_.budget());
    if (samples.rows.size() < kMinSamples) return;
    Columns columns = columns_of(metrics, samples.rows, facts_.budget());
    columns.erase(std::string(kIpc));
    const Table table = table_of(columns, samples.ipc);
    finding_.metrics = correlate(table, samples.ipc);
  }

  // Correlates tasks: the slow ones and the compared ones.
  void correlate_speed(const Metrics &metrics) {
    finding_.index = "dps";
    std::vector<double> speeds;
    for (const auto *entries : {&own_, &others_})
      for (const Entry &entry : *entries) speeds.push_back(entry.speed);
    Columns columns = columns_of(metrics, rows_, facts_.budget());
    const std::vector<uint32_t> tasks = this->tasks();
    add_tasks(columns, data_, tasks);
    if (const Counters *counters = facts_.counters()) add_counters(columns, *counters, tasks);
    const Table table = table_of(columns, speeds);
    finding_.metrics = correlate(table, speeds);
  }

  std::string subject() const {
    const std::string tasks = stage_text(data_, finding_.stage) + "tasks ",
                      node = "slow on node " + data_.name(finding_.host) + ": ";
    if (finding_.is_overtaken)
      return tasks + "are overtaken on node " + data_.name(finding_.host) + ", " + std::to_string(finding_.tasks.size()) +
             " attempts were killed for copies elsewhere: ";
    return finding_.phase == 0 ? tasks + "are " + node : data_.name(finding_.phase) + " of " + tasks + "is " + node;
  }

  Finding &finding_;
  const JobData &data_;
  const std::vector<Group> &groups_;
  const Group &group_;
  JobFacts &facts_;
  std::vector<Entry> own_, others_;
  Rows rows_;  // rows of own_, then of others_
  Sides sides_;
};

// Explains the findings about nodes of one job.
class JobExplainer {
 public:
  JobExplainer(const JobData &data, const MapPhaseEnds &map_phase_ends, uint32_t job, store::Store &store, query::Budget &budget)
      : facts_(data, map_phase_ends, job, store, budget) {}

  void add(Finding &finding, const JobData &data, const std::vector<Group> &groups) {
    explainers_.emplace_back(finding, data, groups, facts_);
  }

  void explain(std::vector<std::string> &notes) {
    const std::optional<Metrics> shared = read_all();
    for (size_t i = 0; i < explainers_.size(); ++i) {
      try {
        if (shared)
          explain_one(i, *shared, i);
        else
          explain_one(i, facts_.metrics({explainers_[i].windows()}), 0);
      } catch (const query::TooMuch &much) {
        explainers_[i].stay_without_reason();
        notes.push_back(explainers_[i].where() + ": not all metrics were read: " + much.what());
      }
    }
    notes.insert(notes.end(), on_hosts_.begin(), on_hosts_.end());
    notes.insert(notes.end(), facts_.notes().begin(), facts_.notes().end());
    facts_.forget_counters();
  }

 private:
  // Reads all stacks in one call. Nothing if that exceeds the budget: then single reads may still be possible.
  std::optional<Metrics> read_all() const {
    std::vector<Windows> sets;
    for (const Explainer &explainer : explainers_) sets.push_back(explainer.windows());
    try {
      return facts_.metrics(sets);
    } catch (const query::TooMuch &) {
      return std::nullopt;
    }
  }
  void explain_one(size_t number, const Metrics &metrics, size_t set) {
    on_hosts_.insert(metrics.notes().begin(), metrics.notes().end());
    explainers_[number].explain(metrics, set);
  }

  JobFacts facts_;
  std::deque<Explainer> explainers_;
  std::set<std::string> on_hosts_;
};

}  // namespace

void explain(std::vector<Finding> &findings, const JobData &data, const std::vector<Group> &groups, store::Store &store,
             query::Budget &budget, std::vector<std::string> &notes) {
  const MapPhaseEnds map_phase_ends(data);
  std::map<uint32_t, JobExplainer> jobs;
  for (Finding &finding : findings) {
    if (!finding.summary.empty()) continue;  // it has an explanation already
    if (finding.kind == Finding::Kind::tasks) explain_tasks(finding, data, groups);
    if (finding.kind == Finding::Kind::node)
      jobs.try_emplace(finding.job, data, map_phase_ends, finding.job, store, budget).first->second.add(finding, data, groups);
  }
  for (auto &[job, explainer] : jobs) explainer.explain(notes);
}

Resource leading_resource(const Correlated &metrics) {
  std::map<Resource, double> sums;
  for (size_t i = 0; i < metrics.leading; ++i) sums[resource_of(metrics.all[i].name)] += std::abs(metrics.all[i].correlation);
  Resource maximum = Resource::other;
  double largest = 0;
  for (const auto &[resource, sum] : sums) {
    if (sum <= largest) continue;
    largest = sum;
    maximum = resource;
  }
  return maximum;
}

}  // namespace atalaya::jobs
