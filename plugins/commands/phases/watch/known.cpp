// SPDX-License-Identifier: Apache-2.0
// The verbs learn, show, export and import.
#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/files.h"
#include "core/base/now.h"
#include "plugins/commands/phases/json.h"
#include "plugins/commands/phases/learn.h"
#include "plugins/commands/phases/picture.h"
#include "plugins/commands/phases/tables.h"
#include "plugins/commands/phases/verbs.h"
#include "plugins/commands/phases/write_spans.h"
#include "plugins/shared/analysis/command_line/output.h"

namespace atalaya::phases {
namespace {

constexpr size_t kMaxImport = size_t{64} << 20;

std::vector<LearnedRun> learned(const PhasesOptions &args, command_line::Reading &reading, PhaseDatabase &database) {
  auto traces = read_traces(*reading.store, args.wanted(reading.range), args.key, args.groups, database.symbols(), reading.budget);
  std::erase_if(traces, [&](const ProcessTrace &one) { return one.trace.size() < 2 * args.min_length; });
  return learn(std::move(traces), args.key, {database.likeness(), args.min_length}, database);
}

using ProgramPhase = std::pair<std::string, std::string>;  // program and id of the phase

// The definitions and occurrences that the store does not have yet. Occurrences of runs that were recognised live are stored
// already.
std::vector<SpanToWrite> new_spans(const std::vector<LearnedRun> &runs, const std::vector<ProgramRun> &recognised,
                                   const std::set<ProgramPhase> &known, const PhaseDatabase &database) {
  std::set<std::tuple<std::string, std::string, std::string>> processes;
  for (const ProgramRun &run : recognised) processes.insert({run.host, run.process, run.pid});
  std::vector<SpanToWrite> spans;
  for (const LearnedRun &run : runs) {
    const bool is_recognised = processes.contains({run.trace.host, run.trace.process, run.trace.pid});
    std::set<std::string> ids;
    for (const StoredOccurrence &one : run.occurrences) ids.insert(one.phase);
    for (const std::string &id : ids) {
      if (is_recognised && known.contains({run.trace.process, id})) continue;
      if (const KnownPhase *const phase = database.find(run.trace.process, id))
        spans.push_back(definition_of(*phase, run.trace.host, database.symbols(), core::realtime()));
    }
    if (is_recognised) continue;
    for (const StoredOccurrence &one : run.occurrences) spans.push_back(span_of(one));
  }
  return spans;
}

std::vector<ProgramRun> runs_of(const std::vector<LearnedRun> &learned) {
  std::vector<ProgramRun> runs;
  for (const LearnedRun &one : learned) {
    runs.push_back({one.trace.host, one.trace.process, one.trace.pid, {}});
    for (const StoredOccurrence &occurrence : one.occurrences)
      runs.back().steps.push_back({occurrence.phase, occurrence.occurrence, {}});
  }
  return runs;
}

}  // namespace

int learn_phases(const PhasesOptions &args, command_line::Reading &reading, PhaseDatabase &database) {
  std::set<ProgramPhase> known;
  for (const KnownPhase &phase : database.phases()) known.insert({phase.application, phase.id});
  const std::vector<LearnedRun> runs = learned(args, reading, database);
  if (runs.empty())
    return report_no_data("stacks of a process with " + std::to_string(2 * args.min_length) + " samples", reading.range);
  const auto recognised = read_runs(*reading.store, args.wanted(reading.range), database, reading.budget);
  const std::vector<SpanToWrite> spans = new_spans(runs, recognised, known, database);
  if (!args.dry_run) write_spans(args.host, command_line::one_store(args.options), spans);
  size_t occurrences = 0;
  for (const LearnedRun &run : runs) occurrences += run.occurrences.size();
  std::printf("%zu runs, %zu occurrences, %zu new phases\n", runs.size(), occurrences, database.phases().size() - known.size());
  std::fputs(phases_table(database, runs_of(runs)).c_str(), stdout);
  if (!args.file.empty()) command_line::write_output(args.file, picture_of(runs.back(), database));
  return 0;
}

int show_phases(const PhasesOptions &args, command_line::Reading &reading, PhaseDatabase &database) {
  const auto runs = read_runs(*reading.store, args.wanted(reading.range), database, reading.budget);
  if (!args.file.empty()) {
    const auto all = learned(args, reading, database);
    if (all.empty()) return report_no_data("stacks", reading.range);
    const auto last = std::max_element(all.begin(), all.end(), [](const LearnedRun &a, const LearnedRun &b) {
      return a.trace.trace.time_ns(0) < b.trace.trace.time_ns(0);
    });
    command_line::write_output(args.file, picture_of(*last, database));
    return 0;
  }
  if (runs.empty()) return report_no_data("phases", reading.range);
  command_line::write_output({}, args.json ? phases_json(database, runs) : phases_table(database, runs) + "\n" + runs_table(runs));
  return 0;
}

int export_phases(const PhasesOptions &args, command_line::Reading &reading, PhaseDatabase &database) {
  if (database.phases().empty()) return report_no_data("phases", {});
  add_statistics(database, read_runs(*reading.store, args.wanted({}), database, reading.budget));
  command_line::write_output(args.file.empty() ? "-" : args.file, database.exported());
  return 0;
}

int import_phases(const PhasesOptions &args, const std::string &path) {
  const auto text = core::read_file(path, kMaxImport);
  if (!text) throw query::Wrong(text.error());
  PhaseDatabase database;
  if (const core::Status status = database.import(text.value()); !status) throw query::Wrong(path + ": " + status.error());
  std::vector<SpanToWrite> spans;
  for (const KnownPhase &phase : database.phases()) spans.push_back(definition_of(phase, "", database.symbols(), core::realtime()));
  write_spans(args.host, command_line::one_store(args.options), spans);
  std::fprintf(stderr, "imported %zu phases\n", spans.size());
  return 0;
}

}  // namespace atalaya::phases
