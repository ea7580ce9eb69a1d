// SPDX-License-Identifier: Apache-2.0
#include "plugins/bottleneck/explain.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "plugins/bottleneck/read.h"

namespace atalaya::bottleneck {
namespace {

// What is read of a finding's tasks and of those beside them.
constexpr size_t kMostReadAgain = 500'000;  // spans: beyond it counters are left out
constexpr size_t kMostOwn = 400, kMostOthers = 800, kMostHosts = 8;
constexpr size_t kMostParts = 50;  // windows of one phase of a task

// So many of them, from all of their length.
template <class T>
std::vector<T> evenly(const std::vector<T> &all, size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> some;
  for (size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

// What the phase, one of this group's stage, waits for; nothing of tasks as a whole.
std::optional<Needs> needs_of_phase(const Told &told, const std::vector<Group> &groups, const Group &group, uint32_t phase) {
  if (phase == 0) return std::nullopt;
  std::vector<std::string> names;
  bool is_remote = false;
  for (const Group &one : groups) {
    if (one.job != group.job || one.stage != group.stage || one.phase == 0) continue;
    names.push_back(told.name(one.phase));
    is_remote = is_remote || (one.phase == phase && one.is_remote);
  }
  Needs needs = needs_of(told.name(phase), names);
  needs.input = needs.input || is_remote;
  return needs;
}

// What the findings of a job have in common: it is read once.
class JobFacts {
 public:
  JobFacts(const Told &told, uint32_t job, store::Store &store, query::Budget &budget)
      : told_(told), store_(store), budget_(budget) {
    std::set<uint32_t> names;
    for (const Task &task : told.tasks)
      if (task.job == job) names.insert(task.host);
    for (const uint32_t name : names) hosts_.insert(told.name(name));
  }
  Metrics metrics(const std::vector<Windows> &sets) const { return Metrics::read(sets, hosts_, store_, budget_); }
  // Counters of these tasks are asked for by and by.
  void add(const std::vector<uint32_t> &tasks) { tasks_.insert(tasks.begin(), tasks.end()); }
  const Counters &counters() {
    if (!counters_) counters_ = read_counters(told_, {tasks_.begin(), tasks_.end()}, store_, budget_);
    return *counters_;
  }
  void check_time() const { budget_.check_time(); }

 private:
  const Told &told_;
  store::Store &store_;
  query::Budget &budget_;
  std::set<std::string> hosts_;
  std::set<uint32_t> tasks_;
  std::optional<Counters> counters_;
};

class Explainer {
 public:
  Explainer(Finding &finding, const Told &told, const std::vector<Group> &groups, JobFacts &facts)
      : finding_(finding), told_(told), groups_(groups), group_(groups[finding.group]), facts_(facts) {
    choose();
    for (const Entry &entry : own_) append(sides_.own, rows_.emplace_back(windows_of(entry)));
    for (const Entry &entry : others_) append(sides_.others, rows_.emplace_back(windows_of(entry)));
    sides_.node = told_.name(finding_.host);
    sides_.needs = needs_of_phase(told_, groups_, group_, finding_.phase);
    sides_.own_tasks = of_tasks(true);
    sides_.other_tasks = of_tasks(false);
    facts.add(tasks());
  }

  Windows windows() const {
    Windows windows = sides_.own;
    append(windows, sides_.others);
    return windows;
  }
  std::string where() const { return "node " + told_.name(finding_.host) + ", " + name_of(told_, group_); }

  // The windows are this set of the metrics'.
  void explain(const Metrics &metrics, size_t set) {
    sides_.set = set;
    finding_.checks = check_all(metrics, sides_);
    finding_.reason = reason_of(finding_.checks);
    finding_.index = "ipc";
    correlate_ipc(metrics, sides_.own);
    if (finding_.metrics.all.empty() && !finding_.is_overtaken) correlate_speed(metrics, rows_);
    if (finding_.metrics.all.empty()) finding_.index.clear();
    finding_.leading = leading_resource(finding_.metrics);
    finding_.summary = subject() + conclusion(finding_.checks);
    if (finding_.reason == Reason::none && !finding_.metrics.all.empty())
      finding_.summary += "; the metrics that go with its speed most are of " + std::string(resource_text(finding_.leading));
  }

  // All that was found out stands; what was not is not guessed.
  void stay_without_reason() {
    finding_.index.clear();
    finding_.metrics = {};
    finding_.summary =
        subject() + (finding_.checks.empty() ? "to look for the reason costs more than is allowed" : conclusion(finding_.checks));
  }

 private:
  using Rows = std::vector<Windows>;  // each is looked at as a whole

  static void append(Windows &all, const Windows &more) { all.insert(all.end(), more.begin(), more.end()); }

  // The slow tasks of the node, and those of some other nodes.
  void choose() {
    std::vector<std::pair<size_t, uint32_t>> most;
    for (const NodeSpeed &node : group_.nodes)
      if (node.host != finding_.host && node.host != 0) most.emplace_back(node.tasks, node.host);
    std::sort(most.begin(), most.end(), [](const auto &a, const auto &b) { return a > b; });
    std::set<uint32_t> chosen;
    for (size_t i = 0; i < std::min(most.size(), kMostHosts); ++i) chosen.insert(most[i].second);
    for (const Entry &entry : group_.entries) {
      const uint32_t host = told_.tasks[entry.task].host;
      if (host == finding_.host && entry.grade <= Grade::lower && !finding_.is_overtaken) own_.push_back(entry);
      if (chosen.contains(host)) others_.push_back(entry);
    }
    if (finding_.is_overtaken) own_ = overtaken();
    own_ = evenly(own_, kMostOwn);
    others_ = evenly(others_, kMostOthers);
  }

  // Their speed is not known.
  std::vector<Entry> overtaken() const {
    std::vector<Entry> entries;
    for (const uint32_t task : finding_.tasks)
      entries.push_back({.task = task, .start_ns = told_.tasks[task].work.start_ns, .time_ns = told_.tasks[task].work.duration_ns});
    return entries;
  }

  // Of a phase that came in several spans (spill after spill) those: between them the task did something else.
  Windows windows_of(const Entry &entry) const {
    const std::string &host = told_.name(told_.tasks[entry.task].host);
    const Part key{entry.task, group_.phase};
    const auto [begin, end] = std::equal_range(told_.parts.begin(), told_.parts.end(), key, [](const Part &a, const Part &b) {
      return std::tie(a.task, a.phase) < std::tie(b.task, b.phase);
    });
    if (begin == end) return {{host, entry.start_ns, entry.start_ns + entry.time_ns}};
    Windows windows;
    for (const Part &part : evenly(std::vector<Part>(begin, end), kMostParts))
      windows.push_back({host, part.begin_ns, part.end_ns});
    return windows;
  }

  OfTasks of_tasks(bool own) const {
    double bytes = 0, remote = 0, time = 0, gc = 0;
    for (const Entry &entry : group_.entries) {
      const Task &task = told_.tasks[entry.task];
      if (task.host == 0 || (task.host == finding_.host) != own) continue;
      if (task.work.bytes > 0 && task.work.remote != kUnknown) {
        bytes += static_cast<double>(task.work.bytes);
        remote += static_cast<double>(task.work.remote);
      }
      if (task.gc_ms == kUnknown) continue;
      gc += static_cast<double>(task.gc_ms) * 1e6;
      time += static_cast<double>(task.work.duration_ns);
    }
    OfTasks found;
    if (bytes > 0) found.remote_share = std::min(1.0, remote / bytes);
    if (time > 0) found.gc_share = std::min(1.0, gc / time);
    return found;
  }

  using Columns = std::map<std::string, std::vector<std::optional<double>>>;

  Columns columns_of(const Metrics &metrics, const Rows &rows) const {
    Columns columns;
    for (const std::string &name : metrics.names()) {
      facts_.check_time();
      for (const Windows &row : rows) columns[name].push_back(metrics.mean(name, row));
    }
    return columns;
  }

  std::vector<uint32_t> tasks() const {
    std::vector<uint32_t> tasks;
    for (const auto *entries : {&own_, &others_})
      for (const Entry &entry : *entries) tasks.push_back(entry.task);
    return tasks;
  }

  // What tasks tell of themselves, and what their framework counted.
  void add_tasks(Columns &columns) const {
    const std::vector<uint32_t> tasks = this->tasks();
    const auto add = [&](const char *name, auto &&value) {
      for (const uint32_t task : tasks) columns[name].push_back(value(told_.tasks[task]));
    };
    const auto part = [](int64_t amount, double of) {
      return amount == kUnknown || of <= 0 ? std::nullopt : std::optional(static_cast<double>(amount) / of);
    };
    add("span.bytes.remote", [&](const Task &task) { return part(task.work.remote, static_cast<double>(task.work.bytes)); });
    add("span.gc.time", [&](const Task &task) { return part(task.gc_ms, static_cast<double>(task.work.duration_ns) / 1e6); });
    add("span.spills", [&](const Task &task) { return part(task.spills, 1); });
    add("span.records", [&](const Task &task) { return part(task.records, 1); });
    if (told_.tasks.size() + told_.phases.size() > kMostReadAgain) return;
    const Counters &counters = facts_.counters();
    for (size_t row = 0; row < tasks.size(); ++row) {
      for (const auto &[name, value] : counters.at(tasks[row])) {
        auto &column = columns[name];
        column.resize(tasks.size());
        column[row] = value;
      }
    }
  }

  // Columns that (nearly) all rows have, and of those rows that have all of these.
  static Table table_of(Columns columns, std::vector<double> &index) {
    constexpr double kMissing = 0.1;
    std::erase_if(columns, [&](const auto &column) {
      const auto missing = static_cast<double>(std::count(column.second.begin(), column.second.end(), std::nullopt));
      return missing > kMissing * static_cast<double>(index.size());
    });
    Table table;
    for (const auto &[name, column] : columns) table.names.push_back(name);
    table.columns.resize(columns.size());
    std::vector<double> kept;
    for (size_t row = 0; row < index.size(); ++row) {
      if (std::any_of(columns.begin(), columns.end(), [row](const auto &column) { return !column.second[row]; })) continue;
      kept.push_back(index[row]);
      auto into = table.columns.begin();
      for (const auto &[name, column] : columns) (into++)->push_back(*column[row]);
    }
    index = std::move(kept);
    return table;
  }

  // Sample by sample in the windows of the slow tasks.
  void correlate_ipc(const Metrics &metrics, const Windows &own) {
    constexpr size_t kFewestSamples = 8;
    constexpr int64_t kShortestSample = 50'000'000;  // there is no finer metric to go with it
    if (!metrics.has(kIpc) || metrics.ipc_sample_ns() <= 0) return;
    const int64_t step = std::max(metrics.ipc_sample_ns(), kShortestSample);
    std::set<int64_t> all_ends;
    for (const Window &window : own) {
      facts_.check_time();
      const int64_t first = window.begin_ns / step + 1, last = window.end_ns / step + 1;
      const int64_t stride = (last - first) / static_cast<int64_t>(kMostOwn + kMostOthers) + 1;  // of endless windows some
      for (int64_t at = first; at <= last; at += stride) all_ends.insert(at * step);
    }
    Rows rows;
    std::vector<double> index;
    for (const int64_t end : evenly(std::vector<int64_t>(all_ends.begin(), all_ends.end()), kMostOwn + kMostOthers)) {
      const Windows row = {{own.front().host, end - step, end}};
      const auto ipc = metrics.mean(kIpc, row);
      if (!ipc) continue;
      rows.push_back(row);
      index.push_back(*ipc);
    }
    if (rows.size() < kFewestSamples) return;
    Columns columns = columns_of(metrics, rows);
    columns.erase(std::string(kIpc));
    const Table table = table_of(std::move(columns), index);
    finding_.metrics = correlate(table, index);
  }

  // Task by task, the slow ones and those beside them.
  void correlate_speed(const Metrics &metrics, const Rows &rows) {
    finding_.index = "dps";
    std::vector<double> index;
    for (const auto *entries : {&own_, &others_})
      for (const Entry &entry : *entries) index.push_back(entry.speed);
    Columns columns = columns_of(metrics, rows);
    add_tasks(columns);
    const Table table = table_of(std::move(columns), index);
    finding_.metrics = correlate(table, index);
  }

  std::string subject() const {
    const std::string tasks = stage_text(told_, finding_.stage) + "tasks ",
                      node = "slow on node " + told_.name(finding_.host) + ": ";
    if (finding_.is_overtaken)
      return tasks + "are overtaken on node " + told_.name(finding_.host) + ", " + std::to_string(finding_.tasks.size()) +
             " attempts were killed for copies elsewhere: ";
    return finding_.phase == 0 ? tasks + "are " + node : told_.name(finding_.phase) + " of " + tasks + "is " + node;
  }

  Finding &finding_;
  const Told &told_;
  const std::vector<Group> &groups_;
  const Group &group_;
  JobFacts &facts_;
  std::vector<Entry> own_, others_;
  Rows rows_;  // of own_, then of others_
  Sides sides_;
};

// The findings on nodes of one job.
class JobExplainer {
 public:
  JobExplainer(const Told &told, uint32_t job, store::Store &store, query::Budget &budget) : facts_(told, job, store, budget) {}

  void add(Finding &finding, const Told &told, const std::vector<Group> &groups) {
    explainers_.emplace_back(finding, told, groups, facts_);
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
        notes.push_back(explainers_[i].where() + ": not all metrics were looked at: " + much.what());
      }
    }
    notes.insert(notes.end(), on_hosts_.begin(), on_hosts_.end());
  }

 private:
  // Nothing where that is more than is allowed: one by one they may not be.
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

// Of tasks that are slow by themselves only what they tell of themselves can be compared.
void explain_tasks(Finding &finding, const Told &told, const std::vector<Group> &groups) {
  const Group &group = groups[finding.group];
  const std::set<uint32_t> slow(finding.tasks.begin(), finding.tasks.end());
  OfTasks own, others;
  const auto share = [&](bool is_own, auto part, auto whole) -> std::optional<double> {
    double sum = 0, all = 0;
    for (const Entry &entry : group.entries) {
      const Task &task = told.tasks[entry.task];
      if (slow.contains(entry.task) != is_own || part(task) == kUnknown || whole(task) <= 0) continue;
      sum += static_cast<double>(part(task));
      all += static_cast<double>(whole(task));
    }
    return all > 0 ? std::optional(std::min(1.0, sum / all)) : std::nullopt;
  };
  const auto remote = [](const Task &task) { return task.work.remote; };
  const auto bytes = [](const Task &task) { return task.work.bytes; };
  const auto gc = [](const Task &task) { return task.gc_ms; };
  const auto ms = [](const Task &task) { return task.work.duration_ns / 1'000'000; };
  Sides sides;
  sides.own_tasks = {share(true, remote, bytes), share(true, gc, ms)};
  sides.other_tasks = {share(false, remote, bytes), share(false, gc, ms)};
  sides.needs = needs_of_phase(told, groups, group, finding.phase);
  for (Check &check : check_all(Metrics(), sides))
    if (check.what == Reason::garbage_collection || check.what == Reason::remote_reads) finding.checks.push_back(std::move(check));
  finding.reason = reason_of(finding.checks);
  std::set<std::string> hosts;
  for (const uint32_t task : finding.tasks) hosts.insert(told.name(told.tasks[task].host));
  const size_t count = finding.tasks.size();
  finding.summary = (count == 1 ? "1 " : std::to_string(count) + " ") + stage_text(told, finding.stage) +
                    (count == 1 ? "task is" : "tasks are") + " slow by " + (count == 1 ? "itself" : "themselves") +
                    (finding.phase != 0 ? ", most in " + told.name(finding.phase) : "") + ", and not the other tasks of " +
                    (hosts.size() == 1 ? "node " + *hosts.begin() : std::to_string(hosts.size()) + " nodes") + ": " +
                    conclusion(finding.checks);
}

}  // namespace

void explain(std::vector<Finding> &findings, const Told &told, const std::vector<Group> &groups, store::Store &store,
             query::Budget &budget, std::vector<std::string> &notes) {
  std::map<uint32_t, JobExplainer> jobs;
  for (Finding &finding : findings) {
    if (finding.kind == Finding::Kind::tasks) explain_tasks(finding, told, groups);
    if (finding.kind == Finding::Kind::node)
      jobs.try_emplace(finding.job, told, finding.job, store, budget).first->second.add(finding, told, groups);
  }
  for (auto &[job, explainer] : jobs) explainer.explain(notes);
}

Resource leading_resource(const Correlated &metrics) {
  std::map<Resource, double> sums;
  for (size_t i = 0; i < metrics.leading; ++i) sums[resource_of(metrics.all[i].name)] += std::abs(metrics.all[i].correlation);
  Resource most = Resource::other;
  double largest = 0;
  for (const auto &[resource, sum] : sums) {
    if (sum <= largest) continue;
    largest = sum;
    most = resource;
  }
  return most;
}

}  // namespace atalaya::bottleneck
