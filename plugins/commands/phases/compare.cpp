// SPDX-License-Identifier: Apache-2.0
// The verbs train, predict and anomalies.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "core/base/text/safe_text.h"
#include "plugins/commands/phases/json.h"
#include "plugins/commands/phases/tables.h"
#include "plugins/commands/phases/verbs.h"
#include "plugins/commands/phases/watch/verdict.h"
#include "plugins/commands/phases/write_spans.h"
#include "plugins/shared/analysis/command_line/output.h"

namespace atalaya::phases {
namespace {

// Whether both runs are parts of one run: the same process, and no pause between them that starts a new run.
bool are_one_run(const ProgramRun &one, const ProgramRun &other) {
  const auto pause_ns = [](const ProgramRun &first, const ProgramRun &second) {
    return second.steps.front().occurrence.start_ns - first.steps.back().occurrence.end_ns;
  };
  return one.host == other.host && one.process == other.process && one.pid == other.pid && pause_ns(one, other) <= kRunPause &&
         pause_ns(other, one) <= kRunPause;
}

// The normal runs of a program.
class NormalRuns {
 public:
  explicit NormalRuns(std::vector<ProgramRun> runs) : runs_(std::move(runs)), all_(runs_) {}

  // Returns the models and the number of the other runs: a run must not be compared with itself.
  const Models &models(const ProgramRun &run) {
    const auto is_own = [&](const ProgramRun &other) { return are_one_run(run, other); };
    if (std::none_of(runs_.begin(), runs_.end(), is_own)) return all_;
    std::vector<ProgramRun> others = runs_;
    std::erase_if(others, is_own);
    return of_others_.emplace(others);
  }
  size_t count(const ProgramRun &run) const {
    return static_cast<size_t>(
        std::count_if(runs_.begin(), runs_.end(), [&](const ProgramRun &other) { return !are_one_run(run, other); }));
  }

 private:
  const std::vector<ProgramRun> runs_;
  const Models all_;
  std::optional<Models> of_others_;  // result of the last call
};

// The runs of the range by program, including their phases before the range.
std::map<std::string, std::vector<ProgramRun>> complete_runs(const PhasesOptions &args, command_line::Reading &reading,
                                                             const PhaseDatabase &database) {
  const Wanted wanted = args.wanted(reading.range);
  std::map<std::string, std::vector<ProgramRun>> programs;
  for (const ProgramRun &run : read_runs(*reading.store, wanted, database, reading.budget)) {
    Wanted of = of_process(wanted, run);
    const auto since = [&](int64_t from_ns) {
      of.range.from_ns = from_ns;
      return read_runs(*reading.store, of, database, reading.budget);
    };
    programs[run.process].push_back(
        with_start(run, wanted.range.from_ns, since, [](const ProgramRun &) { return false; }).value_or(run));
  }
  return programs;
}

// Reads the functions of the requested phases (from `first` on) and of the phases from which they are predicted.
void read_needed_functions(command_line::Reading &reading, ProgramRun &run, const Models &models) {
  for (const size_t input : inputs_of(run, run.first, models.dependent()))
    read_functions(*reading.store, run, run.steps[input], reading.budget);
  for (size_t i = run.first; i < run.steps.size(); ++i) read_functions(*reading.store, run, run.steps[i], reading.budget);
}

// Calls visit(runs, normal runs) for each program that ran in the range; false if there is none.
template <class Visit>
bool for_each_program(const PhasesOptions &args, command_line::Reading &reading, const PhaseDatabase &database, Visit &&visit) {
  auto checked = complete_runs(args, reading, database);
  if (checked.empty()) return false;
  const store::Range training = args.training_range(reading, reading.range.from_ns);
  auto normal = runs_by_program(*reading.store, args.wanted(training), database, reading.budget);
  for (auto &[process, runs] : checked) {
    NormalRuns of_program(std::move(normal[process]));
    visit(runs, of_program);
  }
  return true;
}

SpanToWrite span_of(const ProgramRun &run, const Anomaly &one) {
  return {one.step->occurrence.start_ns,
          one.step->occurrence.end_ns - one.step->occurrence.start_ns,
          std::string(kAnomalySpan),
          {{"host", run.host},
           {"pid", run.pid},
           {"process", run.process},
           {"phase", one.step->phase},
           {"metric", std::string(kTargetNames[static_cast<size_t>(one.target)])},
           {"text", one.summary}},
          0,
          {{"anomaly.seen", one.seen}, {"anomaly.predicted", one.predicted}, {"anomaly.ratio", std::exp(one.distance)}}};
}

void print_normal_runs(const std::vector<ProgramRun> &runs, const NormalRuns &of_program) {
  size_t normal = of_program.count(runs.front());
  for (const ProgramRun &run : runs) normal = std::min(normal, of_program.count(run));
  std::printf("%s: %zu runs against %zu normal runs\n", core::visible(runs.front().process).c_str(), runs.size(), normal);
  if (normal < kMinRuns) std::printf("  too few normal runs for a verdict: %zu are needed; see --train-from\n", kMinRuns);
}

void print(const PhasesOptions &args, core::JsonWriter &json) {
  if (args.json) command_line::write_output({}, json.end_list().take() + "\n");
}

}  // namespace

int train_models(const PhasesOptions &args, command_line::Reading &reading, const PhaseDatabase &database) {
  const auto programs = runs_by_program(*reading.store, args.wanted(reading.range), database, reading.budget);
  if (programs.empty()) return report_no_data("phases", reading.range);
  core::JsonWriter json;
  json.list();
  for (const auto &[process, runs] : programs) {
    const Models models(runs);
    if (args.json)
      write_models(json, process, runs.size(), models);
    else
      std::printf("%s: %zu runs\n%s\n", core::visible(process).c_str(), runs.size(), models_table(models, process).c_str());
  }
  print(args, json);
  return 0;
}

int predict_phases(const PhasesOptions &args, command_line::Reading &reading, const PhaseDatabase &database) {
  core::JsonWriter json;
  json.list();
  const auto predict = [&](std::vector<ProgramRun> &runs, NormalRuns &normal) {
    for (ProgramRun &run : args.json ? std::span(runs) : std::span(runs).last(1)) {
      const Models &models = normal.models(run);
      read_needed_functions(reading, run, models);
      if (args.json)
        write_predictions(json, run, models.runs(), models);
      else
        std::printf("%s, process %s of %s, from %zu normal runs\n%s\n", core::visible(run.process).c_str(),
                    core::visible(run.pid).c_str(), time_of_run(run).c_str(), models.runs(),
                    predictions_table(run, models).c_str());
    }
  };
  if (!for_each_program(args, reading, database, predict)) return report_no_data("phases", reading.range);
  print(args, json);
  return 0;
}

int find_anomalies(const PhasesOptions &args, command_line::Reading &reading, const PhaseDatabase &database) {
  std::vector<SpanToWrite> spans;
  core::JsonWriter json;
  json.list();
  const auto judge = [&](std::vector<ProgramRun> &runs, NormalRuns &normal) {
    if (!args.json) print_normal_runs(runs, normal);
    for (ProgramRun &run : runs) {
      const Models &models = normal.models(run);
      read_needed_functions(reading, run, models);
      const Verdict verdict = anomalies_of(run, models);
      if (args.json)
        write_verdict(json, run, models.runs(), verdict, database);
      else
        std::fputs(verdict_text(run, verdict, database).c_str(), stdout);
      for (const Anomaly &one : verdict.anomalies) spans.push_back(span_of(run, one));
    }
  };
  if (!for_each_program(args, reading, database, judge)) return report_no_data("phases", reading.range);
  print(args, json);
  if (args.save) write_spans(args.host, command_line::one_store(args.options), spans);
  return 0;
}

}  // namespace atalaya::phases
