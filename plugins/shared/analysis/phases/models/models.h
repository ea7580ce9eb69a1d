// SPDX-License-Identifier: Apache-2.0
// Predicts the time and the resources of a phase from the phases before it, and says how far a run is from the prediction. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/shared/analysis/evidence/finding.h"
#include "plugins/shared/analysis/phases/models/regression.h"
#include "plugins/shared/analysis/phases/runs.h"

namespace atalaya::phases {

inline constexpr size_t kMinRuns = 8;      // minimum observations of a model
inline constexpr size_t kEnoughRuns = 15;  // minimum normal runs for the verdict that a phase is new

// A model of one target of a phase.
struct Model {
  size_t rows = 0;
  bool is_linear = false;  // true: computed from the inputs; false: the mean of all runs, because the inputs do not predict it
  std::vector<std::string> inputs;                // features of the linear model
  std::vector<std::pair<double, double>> ranges;  // ranges of the inputs in training
  Linear linear;
  double mean = 0;
  double r2 = 0;                         // R2 of held-out observations
  double accuracy = 0;                   // 100 - mean absolute percentage error of held-out observations
  double threshold = 0;                  // a larger distance (distance_of) is not normal
  double range_low = 0, range_high = 0;  // range of the target in training
};

struct Predicted {
  double value = 0;
  const Model *model = nullptr;
};

class Models {
 public:
  // Trains models with normal runs only. If too few runs have the same two phases before a phase, runs with one of them, or
  // with any phases before it, are used.
  explicit Models(const std::vector<ProgramRun> &runs);

  size_t runs() const { return runs_; }
  const std::set<std::string> &dependent() const { return dependent_; }
  const std::map<Context, std::array<std::optional<Model>, kTargets>> &all() const { return models_; }
  // The number of observations of the first context that has a model, in the order of with_fewer; otherwise of the phase
  // without context.
  size_t rows(const Observation &observation) const;
  // Whether enough normal runs are known and none has the phase.
  bool is_new(const std::string &phase) const { return runs_ >= kEnoughRuns && !phases_.contains(phase); }
  // Returns how many preceding phases are needed to predict this phase: 0 or kBefore. Nothing: it has no model.
  std::optional<size_t> inputs(const std::string &phase) const;
  // Nothing if the training data does not suffice for a prediction.
  std::optional<Predicted> predict(const Observation &observation, Target target) const;
  // The phase that most often follows these in training; empty: none.
  std::string next_phase(const ProgramRun &run) const;

 private:
  size_t runs_ = 0;
  std::set<std::string> dependent_, phases_;
  std::map<Context, std::array<std::optional<Model>, kTargets>> models_;
  std::map<Context, size_t> rows_;
  std::map<std::vector<std::string>, std::map<std::string, size_t>> followers_;
};

// log((seen + floor) / (predicted + floor)) with the floor of the target, so that small amounts make small distances. 0: as
// predicted.
double distance_of(double seen, double predicted, Target target);

// The largest difference that sampling explains. The start and the end of a phase are known to one sample each, so its time and
// amounts are known to two samples. 0: memory, which is a mean; unknown number of samples.
double resolution_of(const Occurrence &seen, double predicted, Target target);

struct Anomaly : evidence::Finding {
  const Step *step = nullptr;
  Target target = Target::seconds;
  double seen = 0, predicted = 0;
  double distance = 0, threshold = 0;
  bool is_from_inputs = false;
};

struct Verdict {
  std::vector<Anomaly> anomalies;          // the largest distance first
  size_t compared = 0, without_model = 0;  // numbers of phases
  std::vector<std::string> unknown;        // phases that no normal run has in this place
};
// Compares the steps of a run with the models, from the first requested step on.
Verdict anomalies_of(const ProgramRun &run, const Models &models);

}  // namespace atalaya::phases
