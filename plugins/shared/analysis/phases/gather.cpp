// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/gather.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "plugins/shared/store/lookup.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::phases {
namespace {

using Process = std::tuple<std::string, std::string, std::string>;  // host, process, pid

using store::tag_of;

Process process_of(const store::Tags &tags) {
  return {tag_of(tags, "host"), tag_of(tags, "process"), tag_of(tags, "pid")};
}

double samples_of(const store::Stack &stack) {
  for (const store::Field &field : stack.fields)
    if (field.name == "profile.samples") return field.is_count ? static_cast<double>(field.count) : field.value;
  return 0;
}

struct Collected {
  std::map<std::string, std::map<int64_t, Assembled>> windows;  // by profile and end
};

// Adds the points of metrics to the windows of their processes.
class MetricReader final : public store::PointVisitor {
 public:
  MetricReader(std::map<Process, Collected> &processes, const std::vector<store::Series> &series, query::Budget &budget)
      : processes_(processes), series_(series), budget_(budget) {}

  void points(size_t at, const store::Points &points) override {
    const auto found = processes_.find(process_of(series_[at].tags));
    if (found == processes_.end()) return;
    budget_.work(points.times_ns.size());
    for (size_t i = 0; i < points.times_ns.size(); ++i) {
      for (auto &[profile, windows] : found->second.windows) {
        Assembled &window = windows[points.times_ns[i]];
        window.duration_ns = std::max(window.duration_ns, points.durations_ns[i]);
        window.has_metrics = window.take(series_[at].metric, points.values[i], points.durations_ns[i]) || window.has_metrics;
      }
    }
  }

 private:
  std::map<Process, Collected> &processes_;
  const std::vector<store::Series> &series_;
  query::Budget &budget_;
};

std::vector<ProcessTrace> traces_of(const Process &process, const std::string &profile, const std::map<int64_t, Assembled> &windows,
                                    Symbols &symbols) {
  const uint32_t gc = symbols.number_of(kGcSymbol), idle = symbols.number_of(kIdleSymbol);
  std::vector<ProcessTrace> traces;
  WindowsWithoutDump undumped;
  bool has_gap = false;
  for (int64_t end_ns = 0; const auto &[time_ns, stored] : windows) {
    Assembled window = stored;
    if (window.duration_ns <= 0) continue;
    const int64_t pause_ns = time_ns - window.duration_ns - std::exchange(end_ns, time_ns);
    has_gap = has_gap || pause_ns > window.duration_ns / 2;
    if (traces.empty() || pause_ns > kRunPause)
      traces.push_back({std::get<0>(process), std::get<1>(process), std::get<2>(process), {}, {}, {}, {}});
    if (profile == "wall" && undumped.add_window(time_ns, window)) continue;
    ProcessTrace &found = traces.back();
    if (has_gap && found.trace.size() > 0) found.gaps.push_back(found.trace.size());
    has_gap = false;
    const Ready sample = ready(window, profile == "wall", gc, idle);
    found.trace.add(time_ns, sample.parts, sample.threads);
    found.durations_ns.push_back(window.duration_ns);
    found.resources.push_back(window.resources);
  }
  std::erase_if(traces, [](const ProcessTrace &one) { return one.trace.size() == 0; });
  return traces;
}

// Removes the windows before the first and after the last stack: they are outside of the profile.
void trim(std::map<int64_t, Assembled> &windows) {
  const auto is_empty = [](const auto &window) { return !window.second.has_stacks; };
  while (!windows.empty() && is_empty(*windows.begin())) windows.erase(windows.begin());
  while (!windows.empty() && is_empty(*windows.rbegin())) windows.erase(std::prev(windows.end()));
}

// Joins occurrences of a phase with a short pause between them in which no phase was recognised.
void add_step(ProgramRun &run, Step step) {
  constexpr double kShort = 0.2;
  if (!run.steps.empty() && run.steps.back().phase == step.phase && !run.steps.back().occurrence.is_open) {
    Occurrence &last = run.steps.back().occurrence;
    const double pause = static_cast<double>(step.occurrence.start_ns - last.end_ns) / 1e9;
    if (pause <= kShort * (last.seconds() + step.occurrence.seconds())) {
      last.end_ns = step.occurrence.end_ns;
      last.is_open = step.occurrence.is_open;
      last.threads.add(step.occurrence.threads);
      last.usage.add(step.occurrence.usage);
      return;
    }
  }
  run.steps.push_back(std::move(step));
}

}  // namespace

std::vector<ProcessTrace> read_traces(store::Store &store, const Wanted &wanted, Key key, const std::vector<Group> &groups,
                                      Symbols &symbols, query::Budget &budget) {
  std::map<Process, Collected> processes;
  StackReader reader(symbols, key, groups);
  store::Selection selection{{}, wanted.tags, wanted.range};
  selection.tags.push_back(
      {"profile", wanted.profile.empty() ? std::vector<std::string>{"wall", "cpu"} : std::vector{wanted.profile}});
  store.stacks(selection, [&](const store::Stack &stack) {
    budget.work(1);
    Assembled &window = processes[process_of(stack.tags)].windows[tag_of(stack.tags, "profile")][stack.time_ns];
    if (window.duration_ns == 0) budget.reserve(1);
    window.duration_ns = std::max(window.duration_ns, stack.duration_ns);
    window.has_stacks = true;
    const double samples = samples_of(stack);
    if (reader.add(stack.folded, samples, window.parts)) window.samples += samples;
  });
  store::Selection metrics{{"proc.*", "jvm.gc.time", "jvm.profile.rate"}, wanted.tags, wanted.range};
  const std::vector<store::Series> series = processes.empty() ? std::vector<store::Series>() : store.series(metrics);
  MetricReader metric_reader(processes, series, budget);
  store.scan(series, wanted.range, metric_reader);
  std::vector<ProcessTrace> traces;
  for (auto &[process, collected] : processes) {
    const bool has_wall = collected.windows.contains("wall");
    auto &[profile, windows] = has_wall ? *collected.windows.find("wall") : *collected.windows.begin();
    trim(windows);
    for (ProcessTrace &one : traces_of(process, profile, windows, symbols)) traces.push_back(std::move(one));
  }
  return traces;
}

Wanted of_process(Wanted wanted, const ProgramRun &run) {
  wanted.tags.push_back({"process", {query::exact_pattern(run.process)}});
  wanted.tags.push_back({"pid", {query::exact_pattern(run.pid)}});
  if (!run.host.empty()) wanted.tags.push_back({"host", {query::exact_pattern(run.host)}});
  return wanted;
}

std::vector<ProgramRun> read_runs(store::Store &store, const Wanted &wanted, const PhaseDatabase &database, query::Budget &budget) {
  std::map<Process, std::vector<ProgramRun>> runs;
  store.spans({{std::string(kPhaseSpan)}, wanted.tags, wanted.range}, [&](const store::Span &span) {
    budget.work(1);
    auto found = occurrence_of(span);
    if (!found || span.start_ns >= wanted.range.to_ns) return;
    budget.reserve(1);
    auto &own = runs[{found->host, found->process, found->pid}];
    const bool is_new = own.empty() || found->occurrence.start_ns - own.back().steps.back().occurrence.end_ns > kRunPause;
    if (is_new) own.push_back({found->host, found->process, found->pid, {}});
    add_step(own.back(), {database.canonical(found->process, found->phase), found->occurrence, {}});
  });
  std::vector<ProgramRun> all;
  for (auto &[process, own] : runs)
    for (ProgramRun &run : own) all.push_back(std::move(run));
  std::stable_sort(all.begin(), all.end(), [](const ProgramRun &a, const ProgramRun &b) {
    return a.steps.front().occurrence.start_ns < b.steps.front().occurrence.start_ns;
  });
  return all;
}

void read_functions(store::Store &store, const ProgramRun &run, Step &step, query::Budget &budget) {
  Symbols symbols(16384);
  const std::vector<Group> groups;
  StackReader reader(symbols, Key::function, groups);
  std::vector<Part> parts;
  const Wanted of = of_process({{{"profile", {"wall", "cpu"}}}, {step.occurrence.start_ns, step.occurrence.end_ns}, ""}, run);
  store.stacks({{}, of.tags, of.range}, [&](const store::Stack &stack) {
    budget.work(1);
    reader.add(stack.folded, samples_of(stack), parts);
  });
  const double samples = std::max(step.occurrence.threads.count, 1.0);
  for (const Part &part : parts) step.functions[symbols.text(part.symbol)] += part.threads / samples;
}

}  // namespace atalaya::phases
