// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/phases/watch/watch.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "core/base/text/safe_text.h"
#include "plugins/commands/phases/watch/verdict.h"
#include "plugins/shared/io/time/time_text.h"

namespace atalaya::phases {
namespace {

std::string line_of(const ProgramRun &run, const Step &step, int64_t at_ns, const std::string &change) {
  constexpr int64_t kSecond = 1'000'000'000;
  return io::time_text(at_ns / kSecond * kSecond) + " " + core::visible(run.process) + " " + core::visible(run.pid) + ": phase " +
         core::visible(step.phase) + " " + change + "\n";
}

// Whether the phase has ended. A recognised phase that does not match for a short time ends, and continues if it matches again, so
// the end is reported after a delay.
bool has_ended(const ProgramRun &run, const Step &step, int64_t now_ns) {
  constexpr double kWindows = 10;
  if (step.occurrence.is_open) return false;
  if (&step != &run.steps.back()) return true;
  return static_cast<double>(now_ns - step.occurrence.end_ns) / 1e9 >=
         kWindows * step.occurrence.seconds() / std::max(step.occurrence.threads.count, 1.0);
}

std::string ended(const Step &step) {
  char text[48];
  std::snprintf(text, sizeof text, "ended after %.1f s", step.occurrence.seconds());
  return text;
}

}  // namespace

std::string Watcher::new_lines(const std::vector<ProgramRun> &runs, int64_t from_ns, int64_t now_ns) {
  std::string text;
  std::map<std::pair<std::string, std::string>, Reported> seen;
  for (const ProgramRun &run : runs) {
    Reported &reported = seen.try_emplace({run.host, run.pid}, reported_[{run.host, run.pid}]).first->second;
    text += new_lines(run, from_ns, now_ns, reported);
  }
  reported_ = std::move(seen);
  if (watching_since_ns_ == 0) watching_since_ns_ = now_ns;
  return text;
}

std::string Watcher::new_lines(const ProgramRun &run, int64_t from_ns, int64_t now_ns, Reported &reported) {
  std::string text;
  for (size_t i = 0; i < run.steps.size(); ++i) {
    const Step &step = run.steps[i];
    const bool is_over = has_ended(run, step, now_ns);
    if (step.occurrence.is_open && step.occurrence.start_ns > reported.begin_ns) {
      text += line_of(run, step, step.occurrence.start_ns, "began");
      reported.begin_ns = step.occurrence.start_ns;
    }
    if (!is_over || step.occurrence.end_ns <= reported.end_ns) continue;
    if (watching_since_ns_ != 0) text += end_of(run, i, from_ns);
    reported.end_ns = step.occurrence.end_ns;
  }
  return text;
}

// Reports the end of a phase. If its start, or the phases from which it is predicted, are older than the runs read so far, it reads
// older runs from the store.
std::string Watcher::end_of(ProgramRun run, size_t position, int64_t from_ns) {
  const Models &normal = models(run.process);
  const std::optional<size_t> inputs = normal.inputs(run.steps[position].phase);
  run.first = position;
  std::optional<ProgramRun> longer = with_start(
      run, from_ns, [&](int64_t since_ns) { return source_.since(run, since_ns); },
      [&](const ProgramRun &part) { return has_inputs(part, part.first, normal.dependent(), inputs.value_or(0)); });
  const bool is_known = longer && !longer->steps[longer->first].occurrence.is_open;
  const Step step = is_known ? longer->steps[longer->first] : run.steps[position];
  const std::string line = line_of(run, step, step.occurrence.end_ns, ended(step));
  if (!is_known || (!inputs && !normal.is_new(step.phase))) return line;
  return line + anomalies(std::move(*longer), normal, inputs.value_or(0));
}

std::string Watcher::anomalies(ProgramRun run, const Models &normal, size_t inputs) {
  run.steps.erase(run.steps.begin() + static_cast<std::ptrdiff_t>(run.first) + 1, run.steps.end());
  for (const size_t input : inputs_of(run, run.first, normal.dependent(), inputs))
    if (!source_.read_functions(run, run.steps[input]))
      return "    it is not compared: the functions of a phase before it are unknown\n";
  source_.read_functions(run, run.steps.back());
  return anomalies_text(run, anomalies_of(run, normal).anomalies, database_);
}

const Models &Watcher::models(const std::string &process) {
  if (const auto known = models_.find(process); known != models_.end()) return known->second;
  std::vector<ProgramRun> runs = source_.normal(process);
  // A run that was in progress at the first call is compared, but is not used as a normal run.
  std::erase_if(runs, [&](const ProgramRun &run) {
    return !run.steps.empty() && (run.steps.back().occurrence.is_open || run.steps.back().occurrence.end_ns > watching_since_ns_);
  });
  return models_.emplace(process, Models(runs)).first->second;
}

}  // namespace atalaya::phases
