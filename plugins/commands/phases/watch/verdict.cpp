// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/phases/watch/verdict.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "core/base/text/safe_text.h"
#include "plugins/commands/phases/json.h"
#include "plugins/commands/phases/tables.h"

namespace atalaya::phases {
namespace {

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

std::string code_text(const std::string &process, const Step &step, const PhaseDatabase &database) {
  const KnownPhase *const known = database.find(process, step.phase);
  if (known == nullptr || step.functions.empty()) return "";
  const std::string begin = "    in the code of phase " + core::visible(step.phase) + ": ";
  if (const auto rise = largest_rise(process, step, database))
    return begin + core::visible(rise->function) + " has " + percent(rise->share) + " of the stack frames, normally " +
           percent(rise->normal) + "\n";
  return begin + "the same functions as in normal runs (" + top_functions(*known, database.symbols(), 1).front() + ")\n";
}

}  // namespace

std::optional<Rise> largest_rise(const std::string &process, const Step &step, const PhaseDatabase &database) {
  constexpr double kMore = 0.02;
  const KnownPhase *const known = database.find(process, step.phase);
  double total = 0;
  for (const auto &[function, threads] : step.functions) total += threads;
  if (known == nullptr || total <= 0) return std::nullopt;
  std::map<std::string, double> normal;
  for (const Part &part : known->phase.profile.parts())
    normal[database.symbols().text(part.symbol)] = part.threads / known->phase.profile.total();
  Rise largest;
  for (const auto &[function, threads] : step.functions)
    if (threads / total - normal[function] > largest.share - largest.normal)
      largest = {function, threads / total, normal[function]};
  if (largest.share - largest.normal <= kMore) return std::nullopt;
  return largest;
}

std::string anomalies_text(const ProgramRun &run, const std::vector<Anomaly> &anomalies, const PhaseDatabase &database) {
  std::string text;
  for (const Anomaly &one : anomalies)
    text += "    " + core::visible(one.summary) + ": " + amount_text(one.seen, one.target) + " instead of " +
            amount_text(one.predicted, one.target) + "\n";
  std::set<const Step *> steps;
  for (const Anomaly &one : anomalies)
    if (steps.insert(one.step).second) text += code_text(run.process, *one.step, database);
  return text;
}

std::string verdict_text(const ProgramRun &run, const Verdict &verdict, const PhaseDatabase &database) {
  std::string text = "  process " + core::visible(run.pid) + " of " + time_of_run(run) + ": " + std::to_string(verdict.compared) +
                     " phases compared, " +
                     (!verdict.anomalies.empty() ? "not normal\n"
                      : verdict.compared == 0    ? "no verdict\n"
                                                 : "normal\n");
  if (verdict.without_model > 0)
    text += "    " + std::to_string(verdict.without_model) + " phases have too few normal runs with the same phases before them\n";
  for (const std::string &phase : verdict.unknown)
    text += "    phase " + core::visible(phase) + " is in no normal run in this place\n";
  return text + anomalies_text(run, verdict.anomalies, database);
}

void write_verdict(core::JsonWriter &json, const ProgramRun &run, size_t normal_runs, const Verdict &verdict,
                   const PhaseDatabase &database) {
  open_run(json, run).key("normal_runs").count(normal_runs).key("compared").count(verdict.compared);
  json.key("without_model").count(verdict.without_model).key("unknown").list();
  for (const std::string &phase : verdict.unknown) json.text(phase);
  json.end_list().key("anomalies").list();
  for (const Anomaly &one : verdict.anomalies) {
    json.object().key("phase").text(one.step->phase).key("start").milliseconds(one.step->occurrence.start_ns);
    json.key("end").milliseconds(one.step->occurrence.end_ns).key("of").text(kTargetNames[static_cast<size_t>(one.target)]);
    json.key("seen").number(one.seen).key("predicted").number(one.predicted);
    json.key("from").text(one.is_from_inputs ? "inputs" : "mean");
    json.key("ratio").number(std::exp(one.distance)).key("normal_up_to").number(std::exp(one.threshold));
    json.key("text").text(one.summary);
    if (const auto rise = largest_rise(run.process, *one.step, database)) {
      json.key("function").text(rise->function).key("function_share").number(rise->share);
      json.key("function_share.normal").number(rise->normal);
    }
    json.end_object();
  }
  json.end_list().end_object();
}

}  // namespace atalaya::phases
