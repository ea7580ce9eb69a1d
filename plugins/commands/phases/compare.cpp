// SPDX-License-Identifier: Apache-2.0
// The verbs train, predict and anomalies.
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/base/safe_text.h"
#include "plugins/commands/phases/json.h"
#include "plugins/commands/phases/tables.h"
#include "plugins/commands/phases/verbs.h"
#include "plugins/commands/phases/verdict.h"
#include "plugins/commands/phases/write_spans.h"
#include "plugins/shared/analysis/query/output.h"

namespace atalaya::phases {
namespace {

// Calls visit(runs, number of normal runs, models) for each program that ran in the range. False: there is none.
template <class Visit>
bool for_each_program(const Asked &asked, query::Reading &reading, const PhaseDatabase &database, Visit &&visit) {
  const auto checked = runs_by_program(*reading.store, asked.wanted(reading.range), database, reading.budget);
  if (checked.empty()) return false;
  const store::Range training = asked.training_range(reading, reading.range.from_ns);
  const auto normal = runs_by_program(*reading.store, asked.wanted(training), database, reading.budget);
  for (const auto &[process, runs] : checked) {
    const auto known = normal.find(process);
    visit(runs, known == normal.end() ? 0 : known->second.size(),
          Models(known == normal.end() ? std::vector<ProgramRun>() : known->second));
  }
  return true;
}

SpanToWrite span_of(const ProgramRun &run, const Anomaly &one) {
  return {one.step->of.start_ns,
          one.step->of.end_ns - one.step->of.start_ns,
          std::string(kAnomalySpan),
          {{"host", run.host},
           {"pid", run.pid},
           {"process", run.process},
           {"phase", one.step->phase},
           {"metric", std::string(kTargetNames[static_cast<size_t>(one.target)])},
           {"text", one.text}},
          0,
          {{"anomaly.seen", one.seen}, {"anomaly.predicted", one.predicted}, {"anomaly.ratio", std::exp(one.distance)}}};
}

void print_normal_runs(const std::vector<ProgramRun> &runs, size_t normal) {
  std::printf("%s: %zu runs against %zu normal runs\n", core::visible(runs.front().process).c_str(), runs.size(), normal);
  if (normal < kLeastRuns) std::printf("  too few normal runs for a verdict: %zu are needed; see --train-from\n", kLeastRuns);
}

void print(const Asked &asked, query::JsonWriter &json) {
  if (asked.json) query::write_output({}, json.end_list().take() + "\n");
}

}  // namespace

int train_models(const Asked &asked, query::Reading &reading, const PhaseDatabase &database) {
  const auto programs = runs_by_program(*reading.store, asked.wanted(reading.range), database, reading.budget);
  if (programs.empty()) return nothing("phases", reading.range);
  query::JsonWriter json;
  json.list();
  for (const auto &[process, runs] : programs) {
    const Models models(runs);
    if (asked.json)
      write_models(json, process, runs.size(), models);
    else
      std::printf("%s: %zu runs\n%s\n", core::visible(process).c_str(), runs.size(), models_table(models, process).c_str());
  }
  print(asked, json);
  return 0;
}

int predict_phases(const Asked &asked, query::Reading &reading, const PhaseDatabase &database) {
  query::JsonWriter json;
  json.list();
  const auto predict = [&](const std::vector<ProgramRun> &runs, size_t normal, const Models &models) {
    const ProgramRun &last = runs.back();
    if (!asked.json)
      std::printf("%s, process %s of %s, from %zu normal runs\n%s\n", core::visible(last.process).c_str(), last.pid.c_str(),
                  time_of_run(last).c_str(), normal, predictions_table(last, models).c_str());
    else
      for (const ProgramRun &run : runs) write_predictions(json, run, normal, models);
  };
  if (!for_each_program(asked, reading, database, predict)) return nothing("phases", reading.range);
  print(asked, json);
  return 0;
}

int find_anomalies(const Asked &asked, query::Reading &reading, const PhaseDatabase &database) {
  std::vector<SpanToWrite> spans;
  query::JsonWriter json;
  json.list();
  const auto judge = [&](const std::vector<ProgramRun> &runs, size_t normal, const Models &models) {
    if (!asked.json) print_normal_runs(runs, normal);
    for (const ProgramRun &run : runs) {
      const Verdict verdict = anomalies_of(run, models);
      if (asked.json)
        write_verdict(json, run, normal, verdict, database);
      else
        std::fputs(verdict_text(run, verdict, database).c_str(), stdout);
      for (const Anomaly &one : verdict.anomalies) spans.push_back(span_of(run, one));
    }
  };
  if (!for_each_program(asked, reading, database, judge)) return nothing("phases", reading.range);
  print(asked, json);
  if (asked.save) write_spans(asked.host, query::one_store(asked.options), spans);
  return 0;
}

}  // namespace atalaya::phases
