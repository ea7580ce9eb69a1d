// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/phases/json.h"

#include <cmath>

#include "plugins/commands/phases/tables.h"

namespace atalaya::phases {
namespace {

using core::JsonWriter;

std::string_view name_of(Target target) {
  return kTargetNames[static_cast<size_t>(target)];
}

void write_step(JsonWriter &json, const Step &step) {
  json.object().key("phase").text(step.phase).key("start").milliseconds(step.occurrence.start_ns);
  json.key("end").milliseconds(step.occurrence.end_ns).key("open").boolean(step.occurrence.is_open);
  for (size_t t = 0; t < kTargets; ++t) json.key(kTargetNames[t]).number(target_of(step.occurrence, static_cast<Target>(t)));
  json.end_object();
}

void write_moments(JsonWriter &json, std::string_view name, const Moments &moments) {
  const bool is_known = moments.count > 0;
  json.key(name).number(is_known ? moments.mean : NAN);
  json.key(std::string(name) + ".deviation").number(is_known ? moments.deviation() : NAN);
}

void write_phase(JsonWriter &json, const KnownPhase &known, const Symbols &symbols) {
  json.object().key("program").text(known.application).key("phase").text(known.id);
  json.key("seen").number(known.seconds.count).key("epoch").count(known.phase.epoch);
  write_moments(json, "time", known.seconds);
  for (size_t r = 0; r < kResources; ++r) write_moments(json, kResourceNames[r], known.usage.by_resource[r]);
  json.key("functions").list();
  constexpr size_t kMaxFunctions = 10;
  for (const std::string &function : top_functions(known, symbols, kMaxFunctions)) json.text(function);
  json.end_list().end_object();
}

void write_source(JsonWriter &json, const Model &model) {
  json.key("from").text(model.is_linear ? "inputs" : "mean").key("r2").number(model.is_linear ? model.r2 : NAN);
  json.key("accuracy").number(model.accuracy);
}

void write_prediction(JsonWriter &json, const Observation &observation, Target target, const Predicted &predicted) {
  const bool is_seen = observation.step != nullptr && !observation.step->occurrence.is_open;
  json.object().key("phase").text(observation.context.phase).key("of").text(name_of(target));
  json.key("predicted").number(predicted.value);
  json.key("seen").number(is_seen ? target_of(observation.step->occurrence, target) : NAN);
  write_source(json, *predicted.model);
  json.end_object();
}

}  // namespace

core::JsonWriter &open_run(core::JsonWriter &json, const ProgramRun &run) {
  return json.object()
      .key("host")
      .text(run.host)
      .key("process")
      .text(run.process)
      .key("pid")
      .text(run.pid)
      .key("start")
      .milliseconds(run.steps.front().occurrence.start_ns);
}

std::string phases_json(const PhaseDatabase &database, const std::vector<ProgramRun> &runs) {
  PhaseDatabase filled = database;
  add_statistics(filled, runs);
  JsonWriter json;
  json.object().key("phases").list();
  for (const KnownPhase &known : filled.phases()) write_phase(json, known, filled.symbols());
  json.end_list().key("runs").list();
  for (const ProgramRun &run : runs) {
    open_run(json, run).key("phases").list();
    for (const Step &step : run.steps) write_step(json, step);
    json.end_list().end_object();
  }
  return json.end_list().end_object().take() + "\n";
}

void write_models(JsonWriter &json, const std::string &process, size_t runs, const Models &models) {
  json.object().key("program").text(process).key("runs").count(runs).key("models").list();
  for (const auto &[context, targets] : models.all()) {
    for (size_t t = 0; t < kTargets; ++t) {
      if (!targets[t]) continue;
      json.object().key("phase").text(context.phase).key("after").list();
      for (const std::string &phase : context.before) json.text(phase);
      json.end_list().key("of").text(kTargetNames[t]).key("runs").count(targets[t]->rows);
      write_source(json, *targets[t]);
      json.key("normal_up_to").number(std::exp(targets[t]->threshold)).end_object();
    }
  }
  json.end_list().end_object();
}

void write_predictions(JsonWriter &json, const ProgramRun &run, size_t normal_runs, const Models &models) {
  open_run(json, run).key("normal_runs").count(normal_runs).key("predictions").list();
  for (const Observation &observation : predictable(run, models)) {
    for (size_t t = 0; t < kTargets; ++t) {
      const auto target = static_cast<Target>(t);
      if (const auto predicted = models.predict(observation, target)) write_prediction(json, observation, target, *predicted);
    }
  }
  json.end_list().end_object();
}

}  // namespace atalaya::phases
