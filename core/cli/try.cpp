// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/base/log.h"
#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "core/base/text/units.h"
#include "core/cli/cli.h"
#include "core/config/check/common_params.h"
#include "core/config/load.h"
#include "core/config/lua_table.h"
#include "core/control/agent.h"
#include "core/plugin/verify/scratch_folder.h"

namespace atalaya::core::cli {
namespace {

constexpr int64_t kTerminalRows = 15;  // of a table; it may continue with further columns below

constexpr OptionSpec kTryOptions[] = {
    {"--every", "TIME", "Length of a window (default: 1s)"},
    {"--windows", "N", "Stop after this number of whole windows (default: 3)"},
    {"--format", "table|json", "Output format; json is one sample per line (default: table)"},
};

// Opens a component and completes its parameters. Prints errors.
std::optional<StageDescription> describe(Registry &registry, uint32_t kind, const std::string &name, const Value &written) {
  StageDescription stage;
  stage.kind = kind;
  stage.name = name;
  stage.where = {"command line", 0};
  stage.queue.max_bytes = int64_t{16} << 20;
  auto opened = registry.open(kind, name);
  if (!opened) {
    std::fprintf(stderr, "atalaya try: %s\n", opened.error().c_str());
    return std::nullopt;
  }
  stage.component = *opened;
  stage.isolation = isolation_of({}, *opened);
  std::vector<Problem> problems;
  stage.parameters = Parameters::resolve(schema_of(*stage.component.component), written, problems);
  for (const Problem &problem : problems)
    std::fprintf(stderr, "atalaya try: %s \"%s\": %s%s%s\n", std::string(kind_name(kind)).c_str(), name.c_str(),
                 problem.path.c_str(), problem.path.empty() ? "" : ": ", problem.text.c_str());
  if (!problems.empty()) return std::nullopt;
  return stage;
}

Value string_value(std::string text) {
  Value value;
  value.type = Value::Type::string;
  value.string = std::move(text);
  return value;
}

// The value of a parameter in the type of the schema. Lists, maps and records may be Lua tables.
Result<Value> written_value(const Schema *schema, const std::string &name, const std::string &text) {
  for (uint32_t p = 0; schema != nullptr && p < schema->count(); ++p) {
    const atalaya_param &param = schema->at(p);
    if (view_of(param.name) != name) continue;
    const bool has_members = param.type == ATALAYA_LIST || param.type == ATALAYA_MAP || param.type == ATALAYA_RECORD;
    if (has_members && !text.empty() && text.front() == '{') return lua_table(text);
    return value_from_text(param, text);
  }
  return string_value(text);
}

// The words name=value as parameters in the types of the source's schema.
std::optional<Value> written_parameters(Registry &registry, const Arguments &arguments) {
  Value table;
  table.type = Value::Type::table;
  const auto opened = registry.open(ATALAYA_SOURCE, arguments.positional[0]);
  std::optional<Schema> schema;
  if (opened) schema = schema_of(*opened.value().component);
  for (size_t i = 1; i < arguments.positional.size(); ++i) {
    const std::string &word = arguments.positional[i];
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      std::fprintf(stderr, "atalaya try: \"%s\" is not of the form NAME=VALUE\n", word.c_str());
      return std::nullopt;
    }
    const std::string name = word.substr(0, equals);
    if (std::any_of(table.map.begin(), table.map.end(), [&](const auto &member) { return member.first == name; })) {
      std::fprintf(stderr, "atalaya try: %s is given twice\n", name.c_str());
      return std::nullopt;
    }
    if (const size_t dot = name.find('.'); dot != std::string::npos) {
      std::fprintf(stderr, "atalaya try: \"%s\": write all members of a record in one word: %s=%s,NAME=VALUE\n", word.c_str(),
                   name.substr(0, dot).c_str(), word.substr(dot + 1).c_str());
      return std::nullopt;
    }
    auto value = written_value(schema ? &*schema : nullptr, name, word.substr(equals + 1));
    if (!value) {
      std::fprintf(stderr, "atalaya try: %s: %s\n", name.c_str(), value.error().c_str());
      return std::nullopt;
    }
    table.map.emplace_back(name, std::move(*value));
  }
  return table;
}

std::string unknown_source(Registry &registry, const std::string &name) {
  for (const uint32_t kind : {ATALAYA_TRANSLATOR, ATALAYA_FILTER, ATALAYA_SINK, ATALAYA_COMMAND})
    if (registry.known(kind, name)) return "\"" + name + "\" is a " + std::string(kind_name(kind)) + "; only a source can be tried";
  return "source \"" + name + "\" is not known" + did_you_mean(name, registry.names(ATALAYA_SOURCE));
}

int try_source(const Arguments &arguments) {
  const std::string &name = arguments.positional[0];
  // A scratch folder: each call is independent of the calls before it.
  const ScratchFolder state("atalaya-try-");
  ::setenv("STATE_DIRECTORY", state.path().c_str(), 1);
  prepare_process();
  Launcher launcher;
  if (const Status started = launcher.start(); !started) log(LogLevel::warning, started.error());
  Registry registry = scan_plugins(arguments);
  if (!registry.known(ATALAYA_SOURCE, name)) {
    std::fprintf(stderr, "atalaya try: %s\n", unknown_source(registry, name).c_str());
    return kWrongUse;
  }
  const auto every = parse_duration(arguments.get("--every").value_or("1s"));
  if (!every || every.value() < 1'000'000) {
    std::fprintf(stderr, "atalaya try: --every: %s\n", every ? "the shortest window is 1ms" : every.error().c_str());
    return kWrongUse;
  }
  const std::string count = arguments.get("--windows").value_or("3");
  const uint64_t windows = number_from<uint64_t>(count).value_or(0);
  if (windows == 0) {
    std::fprintf(stderr, "atalaya try: --windows: \"%s\" is not a count such as 3\n", count.c_str());
    return kWrongUse;
  }
  const std::string format = arguments.get("--format").value_or("table");
  if (format != "table" && format != "json") {
    std::fprintf(stderr, "atalaya try: --format: \"%s\" is not one of table, json\n", format.c_str());
    return kWrongUse;
  }

  const auto written = written_parameters(registry, arguments);
  if (!written) return kWrongUse;
  Value sink_parameters;
  sink_parameters.type = Value::Type::table;
  sink_parameters.map.emplace_back("format", string_value(format == "json" ? "samples" : "table"));
  if (::isatty(STDOUT_FILENO) != 0) {
    Value rows;
    rows.type = Value::Type::integer;
    rows.integer = kTerminalRows;
    sink_parameters.map.emplace_back("max_rows", rows);
  }
  const auto source = describe(registry, ATALAYA_SOURCE, name, *written);
  const auto sink = describe(registry, ATALAYA_SINK, "stdout", sink_parameters);
  if (!source || !sink) return kWrongUse;

  Symbols symbols;
  for (const std::string &problem : registry.declare_metrics(symbols)) log(LogLevel::warning, problem);
  FileDescription file;
  file.paths = {"try"};
  file.sinks.push_back(*sink);
  PipelineDescription pipeline;
  pipeline.name = "try";
  pipeline.every_ns = every.value();
  pipeline.sources.push_back(*source);
  pipeline.sinks.push_back(0);
  file.pipelines.push_back(std::move(pipeline));
  Engine engine(symbols, {.max_windows = windows, .host = {}, .launcher = &launcher});
  if (const Status started = engine.start(std::move(file)); !started) {
    std::fprintf(stderr, "%s\n", started.error().c_str());
    return kFailed;
  }
  return run_agent(engine, {.prints_only = true});
}

}  // namespace

const Command try_command = {"try",
                             "SOURCE [NAME=VALUE ...]",
                             "Run one source and print its samples",
                             "atalaya try proc\n"
                             "atalaya try proc host=false --every 2s --windows 1\n"
                             "atalaya try self --format json",
                             1,
                             64,
                             kTryOptions,
                             try_source};

}  // namespace atalaya::core::cli
