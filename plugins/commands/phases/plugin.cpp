// SPDX-License-Identifier: Apache-2.0
// Command phases: the phases of programs over time, predictions of their cost, and anomalies.
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "plugins/commands/phases/asked.h"
#include "plugins/commands/phases/verbs.h"
#include "plugins/shared/analysis/command_line/options.h"

namespace atalaya::phases {
namespace {

using query::Wrong;

class PhasesCommand final : public Command {
 public:
  static constexpr auto params = command_line::joined(
      command_line::kWindowParams,
      command_line::listed(
          param::list("process", command_line::kText, "Only processes with this name, or pattern").unit("NAME"),
          param::list("host", command_line::kText, "Only processes of this host, or pattern").unit("HOST"), command_line::kTag,
          param::choice("profile", "auto|wall|cpu",
                        "Stacks that learn reads: thread dumps, samples on CPUs; auto: dumps where there are some")
              .defaults("auto"),
          param::choice("key", "function|stack", "Unit of comparison of learn: functions anywhere in stacks, or whole stacks")
              .defaults("function"),
          param::integer("least", "Minimum length of a new phase for learn").defaults("5").range(2, 1000).unit("samples"),
          param::string("train_from", "Start of the normal runs of predict and anomalies (default: all before --train-to)")
              .unit("TIME"),
          param::string("train_to", "End of the normal runs (default: the start of the range)").unit("TIME"),
          param::string("train_experiment", "Time range of the normal runs, as an experiment").unit("NAME"),
          param::boolean("save", "anomalies: writes a span for each anomaly into the store"),
          param::boolean("dry_run", "learn: writes nothing"),
          param::choice("format", "table|json", "Output format of show, train, predict and anomalies").defaults("table"),
          param::string("o", "show, learn: picture of the last run (.svg); export: output file").unit("FILE")),
      command_line::kStoreParams);
  static constexpr Description description = {.name = "phases"_str,
                                              .summary = "Learn, show and predict phases of programs; find anomalies"_str,
                                              .params = params,
                                              .operands =
                                                  "learn|show|watch|train|predict|anomalies|export | import FILE\n"
                                                  "learn  Find phases in the stacks of the range, and store them\n"
                                                  "show  Known phases, and those of each run of the range\n"
                                                  "watch  Begins and ends of phases, and phases that are not normal\n"
                                                  "train  Models of the runs of the range, with their errors\n"
                                                  "predict  Time and resources of the phases of the last run\n"
                                                  "anomalies  Phases that took more or less than normal runs explain\n"
                                                  "export  Write all known phases to one JSON file\n"
                                                  "import FILE  Read phases from an exported file"_str,
                                              .example =
                                                  "atalaya phases learn --from -1d --process Sort\n"
                                                  "atalaya phases anomalies --from -1h --process Sort\n"
                                                  "atalaya phases show --from -1h --process Sort -o sort.svg"_str};

  explicit PhasesCommand(Host host) : asked_(host) {}

  int run(std::span<const atalaya_str> arguments) override {
    std::vector<std::string> words;
    for (const atalaya_str &word : arguments) words.emplace_back(view(word));
    return command_line::with_failures([&] { return dispatch(words); }, command_line::kAskForLessTime);
  }

  void interrupt() noexcept { interruption_.end(); }

 private:
  int dispatch(const std::vector<std::string> &words) {
    static const std::vector<std::string> verbs = {"learn", "train", "show", "watch", "predict", "anomalies", "export", "import"};
    if (words.empty()) throw Wrong("missing argument: learn, train, show, watch, predict, anomalies, export or import");
    const std::string &verb = words[0];
    if (std::find(verbs.begin(), verbs.end(), verb) == verbs.end())
      throw Wrong(core::in_quotes(verb) + " is not one of learn, train, show, watch, predict, anomalies, export, import" +
                  core::did_you_mean(verb, verbs));
    const size_t expected = verb == "import" ? 2 : 1;
    if (words.size() < expected) throw Wrong("import: missing FILE");
    if (words.size() > expected) throw Wrong("unexpected argument " + core::in_quotes(words[expected]));
    if (verb == "import") return import_phases(asked_, words[1]);
    command_line::Reading reading(asked_.options);
    PhaseDatabase database;
    const ReadDefinitions read = read_definitions(*reading.store, database);
    if (read.refused > 0) std::fprintf(stderr, "%zu phases of the store are left out: %s\n", read.refused, read.refusal.c_str());
    if (verb == "learn") return learn_phases(asked_, reading, database);
    if (verb == "show") return show_phases(asked_, reading, database);
    if (verb == "watch") return watch_phases(asked_, reading, database, interruption_);
    if (verb == "export") return export_phases(asked_, reading, database);
    if (verb == "train") return train_models(asked_, reading, database);
    return verb == "predict" ? predict_phases(asked_, reading, database) : find_anomalies(asked_, reading, database);
  }

  const PhasesOptions asked_;
  Interruption interruption_;
};

}  // namespace
}  // namespace atalaya::phases

ATALAYA_PLUGIN("phases", "0.1.0", "command phases", atalaya::phases::PhasesCommand)
