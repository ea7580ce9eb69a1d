// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/runs.h"

#include <cmath>
#include <limits>

namespace atalaya::phases {
namespace {

// Without rounding errors, which would look like an input.
double clean(double value) {
  constexpr double kSmallest = 1e-6;
  return std::round(value / kSmallest) * kSmallest;
}

void add_moments(Features &features, const std::string &name, const Moments &moments) {
  if (moments.count <= 0) return;
  features[name] = clean(moments.mean);
  features[name + ".deviation"] = clean(moments.deviation());
  features[name + ".skewness"] = clean(moments.skewness());
}

void add_step(Features &features, const std::string &place, const Step &step) {
  for (size_t t = 0; t < kTargets; ++t) {
    const double value = target_of(step.of, static_cast<Target>(t));
    if (std::isfinite(value)) features[place + std::string(kTargetNames[t])] = value;
  }
  add_moments(features, place + "threads", step.of.threads);
  for (size_t r = 0; r < kResources; ++r)
    add_moments(features, place + "rate." + std::string(kResourceNames[r]), step.of.usage.of[r]);
  for (const auto &[function, threads] : step.functions) features[place + "threads:" + function] = threads;
}

double variation(const Moments &moments) {
  return moments.count > 1 && moments.mean > 0 ? moments.deviation() / moments.mean : 0;
}

// By one of the phases before: `place` counts from 1, the nearest.
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
  const Moments &moments = occurrence.usage.of[static_cast<size_t>(target) - 1];
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
      sums[step.phase].first += step.of.seconds();
      if (const double cpu = target_of(step.of, Target::cpu); std::isfinite(cpu)) sums[step.phase].second += cpu;
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
  if (before.size() == 2) all.push_back(with_one(observation, 1));
  if (before.size() == 2 && before[0] != before[1]) all.push_back(with_one(observation, 2));
  if (!before.empty()) all.push_back({{observation.context.phase, {}}, {}, observation.step});
  return all;
}

Observation observation_of(const ProgramRun &run, size_t position, const std::set<std::string> &dependent) {
  Observation found;
  found.step = position < run.steps.size() ? &run.steps[position] : nullptr;
  if (found.step != nullptr) found.context.phase = found.step->phase;
  for (size_t i = position; i-- > 0 && found.context.before.size() < kBefore;) {
    const Step &step = run.steps[i];
    if (!dependent.contains(step.phase)) continue;
    found.context.before.push_back(step.phase);
    add_step(found.features, std::to_string(found.context.before.size()) + ".", step);
  }
  return found;
}

ProgramRun context_of(const ProgramRun &run, size_t position, const std::set<std::string> &dependent) {
  ProgramRun part{run.host, run.process, run.pid, {run.steps[position]}};
  for (size_t i = position; i-- > 0 && part.steps.size() <= kBefore;)
    if (dependent.contains(run.steps[i].phase)) part.steps.insert(part.steps.begin(), run.steps[i]);
  return part;
}

}  // namespace atalaya::phases
