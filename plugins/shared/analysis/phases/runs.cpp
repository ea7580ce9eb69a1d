// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/runs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace atalaya::phases {
namespace {

// Rounds the value, because rounding errors would act as an input of the models.
double clean(double value) {
  constexpr double kSmallest = 1e-6;
  return std::round(value / kSmallest) * kSmallest;
}

void add_instants(Features &features, const std::string &name, const Moments &moments) {
  if (moments.count <= 0) return;
  features[name] = clean(moments.mean);
  features[name + ".deviation"] = clean(moments.deviation());
  features[name + ".skewness"] = clean(moments.skewness());
}

void add_step(Features &features, const std::string &place, const Step &step) {
  for (size_t t = 0; t < kTargets; ++t) {
    const double value = target_of(step.occurrence, static_cast<Target>(t));
    if (std::isfinite(value)) features[place + std::string(kTargetNames[t])] = value;
  }
  add_instants(features, place + "threads", step.occurrence.threads);
  for (size_t r = 0; r < kResources; ++r)
    add_instants(features, place + "rate." + std::string(kResourceNames[r]), step.occurrence.usage.by_resource[r]);
  for (const auto &[function, threads] : step.functions) features[place + "threads:" + function] = threads;
}

// The run that contains this phase, whose occurrence may be longer there.
std::optional<ProgramRun> with_phase(std::vector<ProgramRun> runs, const Occurrence &of) {
  for (ProgramRun &run : runs)
    for (run.first = 0; run.first < run.steps.size(); ++run.first)
      if (const Occurrence &one = run.steps[run.first].occurrence; one.end_ns >= of.end_ns && (one.is_open || !of.is_open))
        return std::move(run);
  return std::nullopt;
}

double variation(const Moments &moments) {
  return moments.count > 1 && moments.mean > 0 ? moments.deviation() / moments.mean : 0;
}

// Adds the features of a preceding phase; `place` 1 is the nearest.
Observation with_one(const Observation &observation, size_t place) {
  Observation one{{observation.context.phase, {observation.context.before[place - 1]}}, {}, observation.step};
  const std::string prefix = std::to_string(place) + ".";
  for (const auto &[name, value] : observation.features)
    if (name.starts_with(prefix)) one.features["1." + name.substr(prefix.size())] = value;
  return one;
}

}  // namespace

std::string short_id(const std::string &phase) {
  const size_t dash = phase.rfind('-');
  return dash == std::string::npos || phase.size() - dash != 5 ? phase : phase.substr(0, dash);
}

double target_of(const Occurrence &occurrence, Target target) {
  if (target == Target::seconds) return occurrence.seconds();
  const Moments &moments = occurrence.usage.by_resource[static_cast<size_t>(target) - 1];
  if (moments.count <= 0) return std::numeric_limits<double>::quiet_NaN();
  if (target == Target::memory) return moments.mean;
  return moments.mean * occurrence.seconds() / (target == Target::cpu ? 100 : 1);
}

std::set<std::string> input_dependent(const std::vector<ProgramRun> &runs) {
  constexpr double kVaries = 0.05;
  std::map<std::string, std::pair<Moments, Moments>> moments;
  for (const ProgramRun &run : runs) {
    std::map<std::string, std::pair<double, double>> sums;
    for (const Step &step : run.steps) {
      sums[step.phase].first += step.occurrence.seconds();
      if (const double cpu = target_of(step.occurrence, Target::cpu); std::isfinite(cpu)) sums[step.phase].second += cpu;
    }
    for (const auto &[phase, sum] : sums) moments[phase].first.add(sum.first), moments[phase].second.add(sum.second);
  }
  std::set<std::string> dependent;
  for (const auto &[phase, of] : moments)
    if (phase != kIdlePhase && (variation(of.first) > kVaries || variation(of.second) > kVaries)) dependent.insert(phase);
  return dependent;
}

std::vector<Observation> with_fewer(const Observation &observation) {
  const std::vector<std::string> &before = observation.context.before;
  std::vector<Observation> all{observation};
  static_assert(kBefore == 2);
  if (before.size() == kBefore) all.push_back(with_one(observation, 1));
  if (before.size() == kBefore && before[0] != before[1]) all.push_back(with_one(observation, 2));
  if (!before.empty()) all.push_back({{observation.context.phase, {}}, {}, observation.step});
  return all;
}

Observation observation_of(const ProgramRun &run, size_t position, const std::set<std::string> &dependent) {
  Observation found;
  found.step = position < run.steps.size() ? &run.steps[position] : nullptr;
  if (found.step != nullptr) found.context.phase = found.step->phase;
  for (const size_t input : inputs_of(run, position, dependent)) {
    found.context.before.push_back(run.steps[input].phase);
    add_step(found.features, std::to_string(found.context.before.size()) + ".", run.steps[input]);
  }
  return found;
}

std::vector<size_t> inputs_of(const ProgramRun &run, size_t position, const std::set<std::string> &dependent, size_t before) {
  std::vector<size_t> inputs;
  for (size_t i = position; i-- > 0 && inputs.size() < before;)
    if (dependent.contains(run.steps[i].phase)) inputs.push_back(i);
  return inputs;
}

bool has_inputs(const ProgramRun &run, size_t position, const std::set<std::string> &dependent, size_t before) {
  const std::vector<size_t> inputs = inputs_of(run, position, dependent, before);
  if (inputs.size() < before) return false;
  const size_t oldest = inputs.empty() ? position : inputs.back();
  return std::any_of(run.steps.begin(), run.steps.begin() + static_cast<std::ptrdiff_t>(oldest),
                     [&](const Step &step) { return step.phase != run.steps[oldest].phase; });
}

std::optional<ProgramRun> with_start(ProgramRun run, int64_t from_ns, const RunsSince &since,
                                     const std::function<bool(const ProgramRun &)> &is_enough) {
  constexpr int64_t kLonger = 16;
  const Occurrence of = run.steps[run.first].occurrence;
  while (from_ns >= 0 && run.steps.front().occurrence.start_ns - kRunPause <= from_ns && !is_enough(run)) {
    const int64_t length_ns = std::min(of.end_ns - from_ns, of.end_ns / kLonger);
    from_ns = std::min(run.steps.front().occurrence.start_ns - kRunPause - 1, of.end_ns - kLonger * length_ns);
    auto longer = with_phase(since(from_ns), of);
    if (!longer) return std::nullopt;
    run = std::move(*longer);
  }
  return run;
}

}  // namespace atalaya::phases
