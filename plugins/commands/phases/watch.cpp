// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/phases/watch.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "core/base/safe_text.h"
#include "plugins/commands/phases/verdict.h"
#include "plugins/shared/analysis/query/time_text.h"

namespace atalaya::phases {
namespace {

std::string line_of(const ProgramRun &run, const Step &step, int64_t at_ns, const std::string &change) {
  constexpr int64_t kSecond = 1'000'000'000;
  return query::time_text(at_ns / kSecond * kSecond) + " " + core::visible(run.process) + " " + run.pid + ": phase " + step.phase +
         " " + change + "\n";
}

// A phase that differs for a moment ends, and continues if its epochs match again.
bool has_ended(const ProgramRun &run, const Step &step, int64_t now_ns) {
  constexpr double kWindows = 10;
  if (step.of.is_open) return false;
  if (&step != &run.steps.back()) return true;
  return static_cast<double>(now_ns - step.of.end_ns) / 1e9 >= kWindows * step.of.seconds() / std::max(step.of.threads.count, 1.0);
}

std::string ended(const Step &step) {
  char text[48];
  std::snprintf(text, sizeof text, "ended after %.1f s", step.of.seconds());
  return text;
}

// The runs of a process with the phase that ends at this time, if they have it.
std::optional<std::pair<ProgramRun, size_t>> found(std::vector<ProgramRun> runs, int64_t end_ns) {
  for (ProgramRun &run : runs)
    for (size_t i = 0; i < run.steps.size(); ++i)
      if (run.steps[i].of.end_ns == end_ns) return std::pair(std::move(run), i);
  return std::nullopt;
}

}  // namespace

std::string Watcher::news(const std::vector<ProgramRun> &runs, int64_t from_ns, int64_t now_ns) {
  std::string text;
  std::map<std::pair<std::string, std::string>, Reported> seen;
  for (const ProgramRun &run : runs) {
    Reported &reported = seen.try_emplace({run.host, run.pid}, reported_[{run.host, run.pid}]).first->second;
    text += news(run, from_ns, now_ns, reported);
  }
  reported_ = std::move(seen);
  if (begin_ns_ == 0) begin_ns_ = now_ns;
  return text;
}

std::string Watcher::news(const ProgramRun &run, int64_t from_ns, int64_t now_ns, Reported &reported) {
  std::string text;
  for (size_t i = 0; i < run.steps.size(); ++i) {
    const Step &step = run.steps[i];
    const bool is_over = has_ended(run, step, now_ns);
    if (step.of.is_open && step.of.start_ns > reported.begin_ns) {
      text += line_of(run, step, step.of.start_ns, "began");
      reported.begin_ns = step.of.start_ns;
    }
    if (!is_over || step.of.end_ns <= reported.end_ns) continue;
    if (begin_ns_ != 0) text += line_of(run, step, step.of.end_ns, ended(step)) + anomalies(run, i, from_ns, now_ns);
    reported.end_ns = step.of.end_ns;
  }
  return text;
}

std::string Watcher::anomalies(const ProgramRun &run, size_t position, int64_t from_ns, int64_t now_ns) {
  const Models &normal = models(run.process);
  if (normal.all().empty()) return "";
  std::optional<ProgramRun> part = with_context(run, position, normal, from_ns, now_ns);
  if (!part) return "";
  source_.read_functions(*part);
  Verdict verdict = anomalies_of(*part, normal);
  std::erase_if(verdict.anomalies, [&](const Anomaly &one) { return one.step != &part->steps.back(); });
  return anomalies_text(*part, verdict.anomalies, database_);
}

// The phase at this position, after those that it is predicted from. They may be older than what was read: then the store is read
// further back, twice as far each time, up to the begin of the run.
std::optional<ProgramRun> Watcher::with_context(ProgramRun run, size_t position, const Models &normal, int64_t from_ns,
                                                int64_t now_ns) {
  const int64_t end_ns = run.steps[position].of.end_ns;
  while (true) {
    ProgramRun part = context_of(run, position, normal.dependent());
    const bool is_whole = from_ns < 0 || run.steps.front().of.start_ns - kRunPause > from_ns;
    if (is_whole || part.steps.size() > kBefore) return part;
    from_ns -= now_ns - from_ns;
    auto longer = found(source_.since(run, from_ns), end_ns);
    if (!longer) return std::nullopt;
    std::tie(run, position) = std::move(*longer);
  }
}

const Models &Watcher::models(const std::string &process) {
  if (const auto known = models_.find(process); known != models_.end()) return known->second;
  std::vector<ProgramRun> runs = source_.normal(process);
  // A run that was in progress at the first look is judged, and is no measure.
  std::erase_if(runs, [&](const ProgramRun &run) {
    return !run.steps.empty() && (run.steps.back().of.is_open || run.steps.back().of.end_ns > begin_ns_);
  });
  return models_.emplace(process, Models(runs)).first->second;
}

}  // namespace atalaya::phases
