// SPDX-License-Identifier: Apache-2.0
// Runs of a program as the sequence of their phases, and the features of phases from which later ones are predicted. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/phases/usage.h"

namespace atalaya::phases {

// The id of a phase without the digits of its functions: "Sort.merge" of "Sort.merge-7d04".
std::string short_id(const std::string &phase);

// A phase of a run: its id, its occurrence, and the threads in its functions.
struct Step {
  std::string phase;
  Occurrence occurrence;
  std::map<std::string, double> functions;  // threads per sample; empty: unknown
};

struct ProgramRun {
  std::string host, process, pid;
  std::vector<Step> steps;  // in order of time
  size_t first = 0;         // index of the first requested step; the others are context
};
inline constexpr int64_t kRunPause = 600'000'000'000;  // maximum pause between two phases of a run, in ns

// The predicted values of a phase: its time, and its total use of each resource; for memory the mean.
enum class Target : size_t { seconds, cpu, memory, reads, writes, received, sent };
inline constexpr size_t kTargets = 7;
inline constexpr std::array<std::string_view, kTargets> kTargetNames = {"time",   "cpu",      "memory", "reads",
                                                                        "writes", "received", "sent"};
inline constexpr std::array<std::string_view, kTargets> kTargetUnits = {"s", "core-s", "MiB", "MiB", "MiB", "Mibit", "Mibit"};
inline constexpr std::array<std::string_view, kTargets> kTargetTexts = {
    "time", "CPU", "memory", "disk reads", "disk writes", "received traffic", "sent traffic"};
// Differences below this amount are ignored.
inline constexpr std::array<double, kTargets> kTargetFloors = {0.3, 0.15, 16, 4, 4, 4, 4};

// NaN: unknown.
double target_of(const Occurrence &occurrence, Target target);

// Features by name, such as "1.time", "2.cpu.deviation" and "1.threads:Sort.merge": 1 is the phase before, 2 the one before that.
using Features = std::map<std::string, double>;

// Where a phase is in its run: the phase and the input-dependent ones before it, the nearest first. A single one is one of the
// two before it.
struct Context {
  std::string phase;
  std::vector<std::string> before;
  auto operator<=>(const Context &) const = default;
};

// A process without running threads does nothing that could be predicted; where it waits, it waits for others.
inline constexpr std::string_view kIdlePhase = "idle";

// Returns the phases that depend on the input: their time or CPU differs between runs by more than 5 % (coefficient of
// variation).
std::set<std::string> input_dependent(const std::vector<ProgramRun> &runs);

struct Observation {
  Context context;
  Features features;
  const Step *step = nullptr;
};
// Returns the observation with fewer phases before it: both, the nearer one, the other one, none; without repetitions. The
// other one alone represents runs in which the nearer one is too short to be a phase.
std::vector<Observation> with_fewer(const Observation &observation);
// A phase is predicted from this many input-dependent phases before it.
inline constexpr size_t kBefore = 2;
// Returns the observation of the phase at this position of a run.
Observation observation_of(const ProgramRun &run, size_t position, const std::set<std::string> &dependent);
// The positions of the phases from which the one at this position is predicted, the nearest first; maximum `before`.
std::vector<size_t> inputs_of(const ProgramRun &run, size_t position, const std::set<std::string> &dependent,
                              size_t before = kBefore);
// Whether the run has all of these phases, and another phase before them: then older phases do not change them.
bool has_inputs(const ProgramRun &run, size_t position, const std::set<std::string> &dependent, size_t before);

// The runs of a process with a phase after this time.
using RunsSince = std::function<std::vector<ProgramRun>(int64_t from_ns)>;
// Adds the earlier phases to a run that was read from this time on: up to its start, or until there are enough. Nothing:
// `since` does not return the run.
std::optional<ProgramRun> with_start(ProgramRun run, int64_t from_ns, const RunsSince &since,
                                     const std::function<bool(const ProgramRun &)> &is_enough);

}  // namespace atalaya::phases
