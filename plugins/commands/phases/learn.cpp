// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/phases/learn.h"

#include <utility>

namespace atalaya::phases {
namespace {

StoredOccurrence occurrence_of(const ProcessTrace &process, const Segment &segment, const std::string &id) {
  StoredOccurrence found{process.host, process.process, process.pid, id, {}};
  found.of.start_ns = process.trace.time_ns(segment.begin) - process.durations_ns[segment.begin];
  found.of.end_ns = process.trace.time_ns(segment.end - 1);
  for (size_t i = segment.begin; i < segment.end; ++i) {
    found.of.threads.add(process.trace.threads(i));
    found.of.usage.add(process.resources[i]);
  }
  return found;
}

}  // namespace

LearnedRun learn(ProcessTrace trace, Key key, const MineOptions &options, PhaseDatabase &database) {
  LearnedRun learned{std::move(trace), {}, {}, {}};
  learned.mined = mine(learned.trace.trace, options);
  const auto &phases = learned.mined.phases;
  for (size_t i = 0; i < phases.size(); ++i) {
    std::vector<const Profile *> others;
    for (size_t j = 0; j < phases.size(); ++j)
      if (j != i) others.push_back(&phases[j].profile);
    KnownPhase known;
    known.application = learned.trace.process;
    known.key = key;
    known.phase = phases[i];
    known.learned_ns = learned.trace.trace.time_ns(learned.trace.trace.size() - 1);
    known.id = id_of(phases[i].profile, others, database.symbols());
    database.add(known);
    learned.ids.push_back(database.canonical(known.application, known.id));
  }
  for (const Segment &segment : learned.mined.segments)
    if (segment.phase != kNoPhase) learned.occurrences.push_back(occurrence_of(learned.trace, segment, learned.ids[segment.phase]));
  return learned;
}

}  // namespace atalaya::phases
