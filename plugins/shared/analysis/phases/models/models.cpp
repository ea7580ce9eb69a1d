// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/phases/models/models.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string_view>

#include "plugins/shared/analysis/evidence/statistics.h"

namespace atalaya::phases {
namespace {

constexpr size_t kFolds = 10;
// Minimum R2 for held-out observations; below it the mean of all runs is used.
constexpr double kCarries = 0.3;
constexpr double kMinDistance = 0.1823;  // log(1.2): a deviation of less than 20 % is always normal
// Maximum number of inputs: those with the highest correlation with the target.
constexpr size_t kMaxInputs = 60;
// Maximum ratio of two held-out errors at which the smaller one is clearly better: with 15 observations, an error is known to a
// third.
constexpr double kClearlyBetter = 0.5;

double value_at(const Features &features, const std::string &name) {
  const auto found = features.find(name);
  return found == features.end() ? 0 : found->second;
}

// Name of a feature: the position of the phase and its time or resource, such as "1.cpu".
bool is_amount(const std::string &name) {
  const std::string_view of = std::string_view(name).substr(name.find('.') + 1);
  return std::find(kTargetNames.begin(), kTargetNames.end(), of) != kTargetNames.end();
}

// The features that all observations have, and the numbers of threads (0 if a function is missing), in descending order of
// correlation with the output.
std::vector<std::string> common_inputs(const std::vector<const Observation *> &rows, const std::vector<double> &output) {
  std::map<std::string, size_t> counts;
  for (const Observation *row : rows)
    for (const auto &[name, value] : row->features) ++counts[name];
  std::vector<std::pair<double, std::string>> ranked;
  for (const auto &[name, count] : counts) {
    if (count < rows.size() && name.find(".threads:") == std::string::npos) continue;
    std::vector<double> column;
    for (const Observation *row : rows) column.push_back(value_at(row->features, name));
    const double correlation = evidence::correlation(column, output);
    ranked.emplace_back(std::isfinite(correlation) ? -std::abs(correlation) : 0, name);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> names;
  for (auto &[rank, name] : ranked) names.push_back(std::move(name));
  return names;
}

struct Fit {
  std::vector<std::string> inputs;
  Table table;
  Validated validated;
};

Fit fit_of(const std::vector<std::string> &inputs, const Path &path, const std::vector<const Observation *> &rows,
           const std::vector<double> &output) {
  Fit fit{inputs, {inputs.size(), {}}, {}};
  for (const Observation *row : rows)
    for (const std::string &name : inputs) fit.table.values.push_back(value_at(row->features, name));
  fit.validated = cross_validated(fit.table, output, std::min(kFolds, rows.size()), path);
  return fit;
}

// A few runs do not justify many inputs. The amounts of phases are correlated, and each has an error of one or two samples: ridge
// regression averages them, the LASSO chooses one. The LASSO over all inputs is used if it is clearly better.
std::optional<Fit> best_fit(const std::vector<const Observation *> &rows, const std::vector<double> &output) {
  std::vector<std::string> all = common_inputs(rows, output), amounts;
  std::copy_if(all.begin(), all.end(), std::back_inserter(amounts), is_amount);
  if (all.size() > kMaxInputs) all.resize(kMaxInputs);
  if (all.empty()) return std::nullopt;
  Fit of_all = fit_of(all, fast_lasso_path, rows, output);
  if (amounts.empty()) return of_all;
  Fit of_amounts = fit_of(amounts, ridge_path, rows, output);
  return 1 - of_all.validated.r2 < kClearlyBetter * (1 - of_amounts.validated.r2) ? std::move(of_all) : std::move(of_amounts);
}

// Computes the error of held-out observations, and the normal range from it: it includes all held-out errors, and a new observation
// of the same distribution is outside in one of 1000 cases. The errors include those of the model.
void judge(Model &model, const std::vector<double> &output, const std::vector<double> &held_out, Target target) {
  double errors = 0, largest = 0, squares = 0;
  size_t counted = 0;
  for (size_t i = 0; i < output.size(); ++i) {
    const double distance = distance_of(output[i], held_out[i], target);
    largest = std::max(largest, std::abs(distance));
    squares += distance * distance;
    if (output[i] <= 0) continue;
    errors += std::min(std::abs(held_out[i] - output[i]) / output[i], 1.0) * 100;
    ++counted;
  }
  model.accuracy = counted > 0 ? 100 - errors / static_cast<double>(counted) : 100;
  const auto count = static_cast<double>(output.size());
  model.threshold = std::max({student_limit(count - 1) * std::sqrt(squares / count), largest, kMinDistance});
}

std::vector<double> held_out_means(const std::vector<double> &output) {
  double sum = 0;
  for (const double value : output) sum += value;
  std::vector<double> means;
  for (const double value : output) means.push_back((sum - value) / static_cast<double>(output.size() - 1));
  return means;
}

std::optional<Model> trained(const std::vector<Observation> &observations, Target target) {
  std::vector<const Observation *> rows;
  std::vector<double> output;
  for (const Observation &one : observations) {
    const double value = target_of(one.step->occurrence, target);
    if (!std::isfinite(value)) continue;
    rows.push_back(&one);
    output.push_back(value);
  }
  if (rows.size() < kMinRuns) return std::nullopt;
  Model model;
  model.rows = rows.size();
  for (const double value : output) model.mean += value / static_cast<double>(output.size());
  const auto [low, high] = std::minmax_element(output.begin(), output.end());
  model.range_low = *low, model.range_high = *high;
  judge(model, output, held_out_means(output), target);
  constexpr double kConstant = 1e-6;
  if (*high - *low <= kConstant * std::abs(model.mean)) return model;
  std::optional<Fit> fit = best_fit(rows, output);
  if (!fit) return model;
  const Table &inputs = fit->table;
  model.inputs = std::move(fit->inputs);
  model.r2 = fit->validated.r2;
  if (model.r2 < kCarries) return model;
  model.is_linear = true;
  for (size_t j = 0; j < inputs.columns; ++j) {
    std::pair<double, double> range{inputs.values[j], inputs.values[j]};
    for (size_t i = 1; i < inputs.rows(); ++i) {
      const double value = inputs.row(i)[j];
      range = {std::min(range.first, value), std::max(range.second, value)};
    }
    model.ranges.push_back(range);
  }
  model.linear = std::move(fit->validated.model);
  judge(model, output, fit->validated.held_out, target);
  return model;
}

std::string times_text(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, ratio >= 10 ? "%.0fx" : "%.1fx", ratio);
  return text;
}

std::string text_of(const Anomaly &anomaly) {
  const std::string_view what = kTargetTexts[static_cast<size_t>(anomaly.target)];
  const std::string by = anomaly.is_from_inputs ? "that its inputs explain" : "of normal runs";
  const double floor = kTargetFloors[static_cast<size_t>(anomaly.target)];
  if (anomaly.predicted < floor) {
    char text[64];
    std::snprintf(text, sizeof text, "%.3g %s of ", anomaly.seen,
                  std::string(kTargetUnits[static_cast<size_t>(anomaly.target)]).c_str());
    return "phase " + short_id(anomaly.step->phase) + " had " + text + std::string(what) + ", and none is expected";
  }
  return "phase " + short_id(anomaly.step->phase) + " took " + times_text(anomaly.seen / anomaly.predicted) + " the " +
         std::string(what) + " " + by;
}

// A model may extrapolate by at most the range of its training data on each side.
Predicted predicted(const Model &model, const Observation &observation) {
  if (!model.is_linear) return {model.mean, &model};
  std::vector<double> inputs;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const auto [low, high] = model.ranges[i];
    inputs.push_back(std::clamp(value_at(observation.features, model.inputs[i]), low - (high - low), high + (high - low)));
  }
  return {std::max(model.linear.at(inputs), 0.0), &model};
}

// An anomaly for a phase that no normal run has. Each end of a phase has an error of one sample, so a few samples are not enough.
std::optional<Anomaly> new_phase(const Step &step, const Models &models) {
  constexpr double kLeastSamples = 10;
  const double seconds = step.occurrence.seconds(), distance = distance_of(seconds, 0, Target::seconds);
  if (!models.is_new(step.phase) || step.occurrence.threads.count < kLeastSamples || distance <= kMinDistance) return std::nullopt;
  const std::string summary = "phase " + short_id(step.phase) + " is in none of " + std::to_string(models.runs()) + " normal runs";
  return Anomaly{{summary}, &step, Target::seconds, seconds, 0, distance, kMinDistance};
}

}  // namespace

double distance_of(double seen, double predicted, Target target) {
  const double floor = kTargetFloors[static_cast<size_t>(target)];
  const double a = std::max(seen, 0.0) + floor, b = std::max(predicted, 0.0) + floor;
  return std::log(a / b);
}

Models::Models(const std::vector<ProgramRun> &runs) : runs_(runs.size()), dependent_(input_dependent(runs)) {
  std::map<Context, std::vector<Observation>> observations;
  for (const ProgramRun &run : runs) {
    std::vector<std::string> before;
    for (size_t i = 0; i < run.steps.size(); ++i) {
      ++followers_[before][run.steps[i].phase];
      phases_.insert(run.steps[i].phase);
      before.insert(before.begin(), run.steps[i].phase);
      if (before.size() > kBefore) before.pop_back();
      if (run.steps[i].occurrence.is_open) continue;
      for (Observation &one : with_fewer(observation_of(run, i, dependent_))) {
        const Context context = one.context;
        observations[context].push_back(std::move(one));
      }
    }
    ++followers_[before][""];
  }
  for (const auto &[context, rows] : observations) {
    rows_[context] = rows.size();
    for (size_t t = 0; t < kTargets; ++t) models_[context][t] = trained(rows, static_cast<Target>(t));
  }
}

size_t Models::rows(const Observation &observation) const {
  size_t rows = 0;
  for (const Observation &one : with_fewer(observation)) {
    const auto found = rows_.find(one.context);
    rows = found == rows_.end() ? 0 : found->second;
    if (rows >= kMinRuns) break;
  }
  return rows;
}

std::optional<size_t> Models::inputs(const std::string &phase) const {
  std::optional<size_t> needed;
  for (const auto &[context, rows] : rows_)
    if (context.phase == phase && rows >= kMinRuns) needed = context.before.empty() ? needed.value_or(0) : kBefore;
  return needed;
}

std::optional<Predicted> Models::predict(const Observation &observation, Target target) const {
  for (const Observation &one : with_fewer(observation)) {
    const auto found = models_.find(one.context);
    const auto *const model = found == models_.end() ? nullptr : &found->second[static_cast<size_t>(target)];
    if (model != nullptr && *model) return predicted(**model, one);
  }
  return std::nullopt;
}

std::string Models::next_phase(const ProgramRun &run) const {
  std::vector<std::string> before;
  for (size_t i = run.steps.size(); i-- > 0 && before.size() < kBefore;) before.push_back(run.steps[i].phase);
  const auto found = followers_.find(before);
  if (found == followers_.end()) return "";
  return std::max_element(found->second.begin(), found->second.end(),
                          [](const auto &a, const auto &b) { return a.second < b.second; })
      ->first;
}

double resolution_of(const Occurrence &seen, double predicted, Target target) {
  if (target == Target::memory || seen.threads.count <= 0) return 0;
  constexpr double kRounding = 1 + 1e-9;
  const double two_samples = 2 * kRounding * seen.seconds() / seen.threads.count;
  if (target == Target::seconds) return two_samples;
  const Moments &rate = seen.usage.by_resource[static_cast<size_t>(target) - 1];
  const double highest = (rate.mean + 3 * rate.deviation()) / (target == Target::cpu ? 100 : 1);
  return two_samples * std::max(highest, predicted / seen.seconds());
}

Verdict anomalies_of(const ProgramRun &run, const Models &models) {
  Verdict verdict;
  for (size_t i = run.first; i < run.steps.size(); ++i) {
    if (run.steps[i].occurrence.is_open || run.steps[i].phase == kIdlePhase) continue;
    const Observation observation = observation_of(run, i, models.dependent());
    const size_t rows = models.rows(observation);
    if (auto found = new_phase(run.steps[i], models))
      verdict.anomalies.push_back(std::move(*found));
    else if (rows == 0)
      verdict.unknown.push_back(run.steps[i].phase);
    rows >= kMinRuns ? ++verdict.compared : ++verdict.without_model;
    for (size_t t = 0; t < kTargets; ++t) {
      const auto target = static_cast<Target>(t);
      const double seen = target_of(run.steps[i].occurrence, target);
      const auto expected = std::isfinite(seen) ? models.predict(observation, target) : std::nullopt;
      if (!expected) continue;
      const double distance = distance_of(seen, expected->value, target);
      if (std::abs(distance) <= expected->model->threshold) continue;
      if (std::abs(seen - expected->value) <= resolution_of(run.steps[i].occurrence, expected->value, target)) continue;
      const Model &model = *expected->model;
      Anomaly found{{}, &run.steps[i], target, seen, expected->value, distance, model.threshold, model.is_linear};
      found.summary = text_of(found);
      verdict.anomalies.push_back(std::move(found));
    }
  }
  for (Anomaly &one : verdict.anomalies) one.weight = std::abs(one.distance) / one.threshold;
  evidence::rank(verdict.anomalies);
  return verdict;
}

}  // namespace atalaya::phases
