// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/phases/asked.h"

#include <cstdio>
#include <limits>
#include <utility>

#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/experiments/ranges.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::phases {
PhasesOptions::PhasesOptions(Host from)
    : host(from),
      options(command_line::read_options(host)),
      profile(host.text("profile") == "auto" ? "" : host.text("profile")),
      key(host.text("key") == "stack" ? Key::stack : Key::function),
      min_length(static_cast<size_t>(host.integer("least"))),
      train_from(command_line::text_of(host, "train_from")),
      train_to(command_line::text_of(host, "train_to")),
      train_experiment(command_line::text_of(host, "train_experiment")),
      save(host.find("save") && host.boolean("save")),
      dry_run(host.find("dry_run") && host.boolean("dry_run")),
      json(host.text("format") == "json"),
      file(command_line::text_of(host, "o")),
      tags(command_line::read_tags(host)) {
  for (const char *name : {"process", "host"})
    if (std::vector<std::string> patterns = host.texts(name); !patterns.empty()) tags.push_back({name, std::move(patterns)});
  auto shuffle = io::Matcher::parse(kShufflePattern);
  groups.push_back({"shuffle", std::move(*shuffle)});
}

store::Range PhasesOptions::training_range(const command_line::Reading &reading, int64_t end_ns) const {
  store::Range range{std::numeric_limits<int64_t>::min(), end_ns};
  if (!train_experiment.empty()) {
    command_line::ReadOptions experiment = options;
    experiment.from = experiment.to = experiment.workload = "";
    experiment.experiment = train_experiment;
    return command_line::Reading(experiment).range;
  }
  if (!train_from.empty()) range.from_ns = experiments::time_of("--train-from", train_from, *reading.store, reading.now_ns);
  if (!train_to.empty()) range.to_ns = experiments::time_of("--train-to", train_to, *reading.store, reading.now_ns);
  if (range.from_ns >= range.to_ns)
    throw query::Wrong("the range of normal runs ends before it begins; see --train-from and --train-to");
  return range;
}

std::map<std::string, std::vector<ProgramRun>> runs_by_program(store::Store &store, const Wanted &of, const PhaseDatabase &database,
                                                               query::Budget &budget) {
  std::map<std::string, std::vector<ProgramRun>> programs;
  for (ProgramRun &run : read_runs(store, of, database, budget)) {
    for (Step &step : run.steps) read_functions(store, run, step, budget);
    programs[run.process].push_back(std::move(run));
  }
  return programs;
}

int report_no_data(const std::string &what, const store::Range &range) {
  const bool is_all = range.from_ns == std::numeric_limits<int64_t>::min();
  std::fprintf(stderr, "no %s%s; pipelines/phases.lua collects them\n", what.c_str(),
               is_all ? "" : (" from " + command_line::span_text(range)).c_str());
  return 1;
}

}  // namespace atalaya::phases
