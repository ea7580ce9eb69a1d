// SPDX-License-Identifier: Apache-2.0
// atalaya check FILE: what is wrong with a pipeline file, or its graph. Starts nothing.
#include <array>
#include <cstdio>

#include "core/cli/cli.h"
#include "core/config/graph.h"
#include "core/config/load.h"
#include "core/isolation/capabilities.h"
#include "core/util/log.h"

namespace atalaya::core::cli {
namespace {

constexpr std::array kOptions = {OptionSpec{"--quiet", "", "print what is wrong, not the graph"},
                                 OptionSpec{"--drop", "", "without capabilities, as `run --drop` reads the file"}};

int check(const Arguments &arguments) {
  if (const Status dropped = arguments.has("--drop") ? keep_capabilities(0) : Done{}; !dropped) {
    log(LogLevel::error, dropped.error());
    return kFailed;
  }
  Registry registry = Registry::scan(Registry::default_folders(arguments.get("--plugins").value_or("")));
  Symbols symbols;
  const LoadedFile file = load_file(arguments.positional.at(0), registry, symbols, default_lua_library());
  for (const auto &error : file.errors) std::fprintf(stderr, "%s\n", error.c_str());
  for (const auto &warning : file.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  if (file.description) {
    if (!arguments.has("--quiet")) std::fputs(graph_text(*file.description).c_str(), stdout);
    return kDone;
  }
  // What is not known may be in a plugin that was refused.
  for (const auto &refused : registry.refused()) std::fprintf(stderr, "warning: %s\n", refused.c_str());
  return kWrongUse;
}

}  // namespace

const Command check_command = {
    .name = "check",
    .operands = "FILE",
    .summary = "validate a pipeline file and print its graph; starts nothing",
    .example = "atalaya check /etc/atalaya/host.lua",
    .min_operands = 1,
    .max_operands = 1,
    .options = kOptions,
    .run = check,
};

}  // namespace atalaya::core::cli
