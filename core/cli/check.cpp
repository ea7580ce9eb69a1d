// SPDX-License-Identifier: Apache-2.0
// atalaya check FILE...: the errors of pipeline files, or their graph. Starts nothing.
#include <array>
#include <cstdio>
#include <string>

#include "core/base/log.h"
#include "core/cli/cli.h"
#include "core/cli/run_problems.h"
#include "core/config/graph.h"
#include "core/config/load.h"
#include "core/isolation/launcher/capabilities.h"
#include "core/plugin/local_instance.h"

namespace atalaya::core::cli {
namespace {

constexpr std::array kCheckOptions = {OptionSpec{"--quiet", "", "Print only errors, not the graph"},
                                      OptionSpec{"--drop", "", "Give up all capabilities first, as `run --drop` does"}};

// Creates the component, which opens nothing, and prints its objections to its parameters. Skips isolated components: their code
// must not run in this process.
bool is_accepted(const StageDescription &stage, const std::string &label, Symbols &symbols) {
  if (stage.function != 0 || stage.isolation.on) return true;
  Surroundings surroundings;
  LocalInstance instance(stage.component, stage.parameters, label + std::string(kind_name(stage.kind)) + " \"" + stage.name + "\"",
                         symbols, surroundings);
  const Outcome created = instance.create();
  if (created.code != ATALAYA_BAD_CONFIG) return true;
  std::fprintf(stderr, "%s%s: %s\n", prefix_of(stage.where).c_str(), instance.label().c_str(), created.text.c_str());
  return false;
}

bool are_accepted(const FileDescription &file, Symbols &symbols) {
  bool good = true;
  for (const StageDescription &sink : file.sinks) good = is_accepted(sink, "", symbols) && good;
  for (const PipelineDescription &pipeline : file.pipelines)
    for (const auto *list : {&pipeline.sources, &pipeline.stages})
      for (const StageDescription &stage : *list)
        good = is_accepted(stage, "pipeline \"" + pipeline.name + "\": ", symbols) && good;
  return good;
}

int check(const Arguments &arguments) {
  if (const Status dropped = arguments.has("--drop") ? keep_capabilities(0) : Done{}; !dropped) {
    log(LogLevel::error, dropped.error());
    return kFailed;
  }
  Registry registry = Registry::scan(Registry::default_folders(arguments.get("--plugins").value_or("")));
  Symbols symbols;
  const LoadedFiles files = load_files(arguments.positional, registry, symbols, default_lua_library());
  for (const auto &error : files.errors) std::fprintf(stderr, "%s\n", error.c_str());
  for (const auto &warning : files.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  if (files.description) {
    if (!are_accepted(*files.description, symbols)) return kWrongUse;
    for (const auto &problem : run_problems(*files.description)) std::fprintf(stderr, "warning: %s\n", problem.c_str());
    if (!arguments.has("--quiet")) std::fputs(graph_text(*files.description).c_str(), stdout);
    return kDone;
  }
  // An unknown component may be in a plugin that was refused.
  for (const auto &refused : registry.refused()) std::fprintf(stderr, "warning: %s\n", refused.c_str());
  return kWrongUse;
}

}  // namespace

const Command check_command = {
    .name = "check",
    .operands = "FILE...",
    .summary = "Validate pipeline files and print their graph; start nothing",
    .example =
        "atalaya check /etc/atalaya/atalaya.lua\n"
        "atalaya check pipelines/host.lua pipelines/profile.lua\n"
        "atalaya check --drop pipelines/profile.lua",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .options = kCheckOptions,
    .run = check,
};

}  // namespace atalaya::core::cli
