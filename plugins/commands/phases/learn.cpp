// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/phases/learn.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

namespace atalaya::phases {
namespace {

StoredOccurrence occurrence_of(const ProcessTrace &process, const Segment &segment, const std::string &id) {
  StoredOccurrence found{process.host, process.process, process.pid, id, {}};
  found.occurrence.start_ns = process.trace.time_ns(segment.begin) - process.durations_ns[segment.begin];
  found.occurrence.end_ns = process.trace.time_ns(segment.end - 1);
  for (size_t i = segment.begin; i < segment.end; ++i) {
    found.occurrence.threads.add(process.trace.threads(i));
    found.occurrence.usage.add(process.resources[i]);
  }
  return found;
}

// Adds a segment as occurrences of its phase, split at gaps without samples. A part needs the minimum length of a phase.
void add_occurrences(LearnedRun &run, const Segment &segment, const std::string &id, size_t min_length) {
  Segment part = segment;
  const auto add = [&](size_t end) {
    part.end = end;
    if (part.size() >= min_length || part == segment) run.occurrences.push_back(occurrence_of(run.trace, part, id));
    part.begin = end;
  };
  for (const size_t gap : run.trace.gaps)
    if (gap > segment.begin && gap < segment.end) add(gap);
  add(segment.end);
}

struct KnownPhases {
  std::vector<std::string> ids;
  std::vector<Profile> profiles;
};

KnownPhases phases_of(const std::string &program, Key key, const PhaseDatabase &database) {
  KnownPhases found;
  for (const KnownPhase &known : database.phases()) {
    if (known.application != program || known.key != key) continue;
    found.ids.push_back(known.id);
    found.profiles.push_back(known.phase.profile);
  }
  return found;
}

// Adds the phases to the database; returns their ids.
std::vector<std::string> add_phases(const std::vector<MinedPhase> &phases, const KnownPhases &earlier, const std::string &program,
                                    Key key, int64_t learned_ns, PhaseDatabase &database) {
  std::vector<std::string> ids;
  for (const MinedPhase &phase : phases) {
    std::vector<const Profile *> others;
    for (const MinedPhase &other : phases)
      if (&other != &phase) others.push_back(&other.profile);
    KnownPhase known;
    known.application = program;
    known.key = key;
    known.phase = phase;
    known.learned_ns = learned_ns;
    known.id = phase.known ? earlier.ids[*phase.known] : id_of(phase.profile, others, database.symbols());
    database.add(known);
    ids.push_back(database.canonical(program, known.id));
  }
  return ids;
}

void learn_program(std::span<LearnedRun *const> runs, Key key, const MineOptions &options, PhaseDatabase &database) {
  const std::string &program = runs.front()->trace.process;
  std::vector<const Trace *> traces;
  int64_t last_ns = 0;
  for (const LearnedRun *run : runs) {
    traces.push_back(&run->trace.trace);
    last_ns = std::max(last_ns, run->trace.trace.time_ns(run->trace.trace.size() - 1));
  }
  const KnownPhases earlier = phases_of(program, key, database);
  MinedRuns mined = mine(traces, earlier.profiles, options);
  const std::vector<std::string> ids = add_phases(mined.phases, earlier, program, key, last_ns, database);
  for (size_t i = 0; i < runs.size(); ++i) {
    LearnedRun &run = *runs[i];
    run.segments = std::move(mined.segments[i]);
    run.ids = ids;
    for (const Segment &segment : run.segments)
      if (segment.phase != kNoPhase) add_occurrences(run, segment, ids[segment.phase], options.minimum);
  }
}

}  // namespace

std::vector<LearnedRun> learn(std::vector<ProcessTrace> traces, Key key, const MineOptions &options, PhaseDatabase &database) {
  std::vector<LearnedRun> learned(traces.size());
  std::map<std::string, std::vector<LearnedRun *>> programs;
  for (size_t i = 0; i < traces.size(); ++i) {
    learned[i].trace = std::move(traces[i]);
    programs[learned[i].trace.process].push_back(&learned[i]);
  }
  for (const auto &[program, runs] : programs) learn_program(runs, key, options, database);
  return learned;
}

}  // namespace atalaya::phases
