// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "core/base/log.h"
#include "core/base/own_command.h"
#include "core/base/text/json_writer.h"
#include "core/base/text/text.h"
#include "core/base/text/units.h"
#include "core/cli/cli.h"
#include "core/cli/version.h"
#include "core/config/load.h"
#include "core/control/agent.h"
#include "core/control/drop_report.h"
#include "core/control/service.h"
#include "core/control/status_server.h"
#include "core/isolation/launcher/capabilities.h"
#include "core/pipeline/clock.h"

namespace atalaya::core::cli {
namespace {

constexpr OptionSpec kRunOptions[] = {
    {"--for", "TIME", "Stop after this time, such as 30s (default: never)"},
    {"--socket", "PATH", "Socket for `atalaya status` (default: status.sock in the runtime folder)"},
    {"--host", "NAME", "Value of the tag host (default: the host's name)"},
    {"--log-level", "LEVEL", "Minimum level of logged lines: error, warning, info (default) or debug"},
    {"--drop", "", "Give up all capabilities; components that need some run isolated, with only those"},
};

// The parts of `run`, except the files.
struct Parts {
  const Arguments &arguments;
  Registry registry;
  Symbols symbols;
  Launcher launcher;
};

template <class Body>
void each_component(FileDescription &file, Body &&body) {
  for (PipelineDescription &pipeline : file.pipelines)
    for (auto *list : {&pipeline.sources, &pipeline.stages}) std::for_each(list->begin(), list->end(), body);
  std::for_each(file.sinks.begin(), file.sinks.end(), body);
}

std::optional<FileDescription> load(const std::vector<std::string> &paths, Parts &parts) {
  LoadedFiles loaded = load_files(paths, parts.registry, parts.symbols, default_lua_library());
  for (const std::string &line : loaded.warnings) std::fprintf(stderr, "%s\n", line.c_str());
  for (const std::string &line : loaded.errors) std::fprintf(stderr, "%s\n", line.c_str());
  // A component that declares capabilities gets them in a separate process, if there are any to get.
  const auto isolate_privileged = [&parts](StageDescription &stage) {
    if (stage.function == 0 && usable_capabilities(*stage.component.component, parts.launcher.capabilities()) != 0)
      stage.isolation.on = true;
  };
  if (loaded.description && parts.arguments.has("--drop")) each_component(*loaded.description, isolate_privileged);
  return std::move(loaded.description);
}

// Starts first: the launcher keeps the capabilities. The agent gives up its own before it runs any code of a plugin.
Status start_launcher(Parts &parts) {
  if (const Status started = parts.launcher.start(); !started) log(LogLevel::warning, started.error());
  return parts.arguments.has("--drop") ? keep_capabilities(0) : Done{};
}

void end_launcher_unless_wanted(FileDescription &file, Parts &parts) {
  bool wanted = parts.arguments.has("--drop") && parts.launcher.capabilities() != 0;  // components of reloaded files may need it
  each_component(file, [&wanted](const StageDescription &stage) { wanted = wanted || stage.isolation.on; });
  if (!wanted) parts.launcher.end();
}

// Samples collected, delivered, queued and dropped.
std::string ledger_line(const std::vector<LedgerRow> &rows) {
  Counts sum;
  for (const LedgerRow &row : rows) {
    if (row.type == RowType::source) sum.created += row.counts.created;
    if (row.type == RowType::sink) {
      sum.out += row.counts.out;
      sum.queued += row.counts.queued;
      sum.dropped += row.counts.dropped;
    }
  }
  return std::to_string(sum.created) + " samples in, " + std::to_string(sum.out) + " delivered, " + std::to_string(sum.queued) +
         " queued, " + std::to_string(sum.dropped) + " dropped by sinks";
}

// The losses of all stages and sinks, the largest first.
std::string drops_line(const std::vector<LedgerRow> &rows) {
  static constexpr size_t kMost = 3;
  std::vector<std::pair<int64_t, std::string>> drops;
  int64_t sum = 0;
  for (const LedgerRow &row : rows) {
    sum += row.counts.dropped;
    for (const auto &[reason, samples] : row.reasons)
      drops.emplace_back(samples, std::to_string(samples) + " by \"" + row.pipeline + "\" " + row.component + " (" + reason + ")");
  }
  std::sort(drops.rbegin(), drops.rend());
  std::string text = std::to_string(sum) + " dropped";
  for (size_t i = 0; i < drops.size() && i < kMost; ++i) text += (i == 0 ? ": " : ", ") + drops[i].second;
  return text + (drops.size() > kMost ? ", ..." : "");
}

std::future<Status> reload(const std::vector<std::string> &paths, Engine &engine, Parts &parts) {
  if (auto description = load(paths, parts)) return engine.reload(std::move(*description));
  log(LogLevel::error, "reload refused: " + joined(paths, " ") +
                           (paths.size() == 1 ? " has errors; the old file runs on" : " have errors; the old files run on"));
  return {};
}

// The features, examined with the privileges of this agent. A separate process opens the plugins.
std::string examined(const Arguments &arguments, int launcher, int stop) {
  std::vector<std::string> words = {"doctor", "--format", "json"};
  if (const auto folder = arguments.get("--plugins")) words.insert(words.end(), {"--plugins", *folder});
  if (launcher > 0) words.insert(words.end(), {"--launcher", std::to_string(launcher)});
  auto text = output_of_own_command(std::move(words), int64_t{kDoctorTimeoutMs} * 1'000'000, stop);
  if (text && text->ends_with("]\n")) return std::move(text).value();
  const std::string problem = "atalaya doctor: " + (text ? "it fails; run it on this host" : text.error());
  return JsonWriter().object().key("error").text(problem).end_object().take() + "\n";
}

bool prints(const StageDescription &sink) {
  return sink.name == "stdout";
}

int run_pipelines(const Arguments &arguments) {
  const std::vector<std::string> &paths = arguments.positional;
  const std::string path = joined(paths, " ");
  AgentOptions options;
  if (const auto text = arguments.get("--for")) {
    const auto time = parse_duration(*text);
    if (!time) {
      std::fprintf(stderr, "atalaya run: --for: %s\n", time.error().c_str());
      return kWrongUse;
    }
    options.for_ns = time.value();
  }
  if (const auto word = arguments.get("--log-level")) {
    const auto level = parse_log_level(*word);
    if (!level) {
      std::fprintf(stderr, "atalaya run: --log-level: \"%s\" is not error, warning, info or debug\n", word->c_str());
      return kWrongUse;
    }
    set_log_level(*level);
  }
  prepare_process();
  const ServiceManager service;  // removes its variables from the environment, so that no child inherits them
  Parts parts{arguments, {}, {}, {}};
  if (const Status started = start_launcher(parts); !started) {
    log(LogLevel::error, started.error());
    return kFailed;
  }
  parts.registry = scan_plugins(arguments);
  auto description = load(paths, parts);
  if (!description) return kWrongUse;
  end_launcher_unless_wanted(*description, parts);

  Ledger *ledger = nullptr;
  // The status line is sent with the watchdog's keep-alive message, or every 15 s without a watchdog.
  static constexpr int64_t kStatusEvery = 15'000'000'000;
  const auto alive = [&service, &ledger] { service.alive(ledger_line(ledger->snapshot())); };
  Engine engine(parts.symbols, {.host = arguments.get("--host").value_or(""),
                                .launcher = &parts.launcher,
                                .alive_every_ns = service.watchdog_ns() > 0 ? service.watchdog_ns() : kStatusEvery,
                                .alive = service.present() ? alive : std::function<void()>()});
  ledger = &engine.ledger();
  const int64_t begin = read_clocks().monotonic;
  const auto answer = [&engine, &path, &parts, begin](bool json) {
    const AgentFacts facts{kVersion, path, ::getpid(), parts.launcher.pid(),
                           static_cast<double>(read_clocks().monotonic - begin) / 1e9};
    const auto rows = engine.ledger().snapshot();
    return json ? status_json(facts, rows) : status_table(facts, rows);
  };
  // A status line that is overwritten in place, unless samples are printed to the terminal.
  const auto &sinks = description->sinks;
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  const bool live = terminal && std::none_of(sinks.begin(), sinks.end(), prints);
  options.prints_only = std::all_of(sinks.begin(), sinks.end(), prints);
  if (const Status started = engine.start(std::move(*description)); !started) {
    std::fprintf(stderr, "%s\n", started.error().c_str());
    return kFailed;
  }
  auto server = StatusServer::listen(arguments.get("--socket").value_or(default_status_socket()), answer,
                                     [&](int stop) { return examined(arguments, parts.launcher.pid(), stop); });
  if (!server) log(LogLevel::warning, server.error());
  log(LogLevel::info, "running " + path);

  options.reload = [&] {
    service.reloading();
    auto reloaded = reload(paths, engine, parts);
    if (!reloaded.valid()) service.reloaded("reload refused: a file has errors; the old pipelines continue");
    return reloaded;
  };
  options.reloaded = [&](const Status &reloaded) {
    std::string text = reloaded ? "reloaded " + path : "reload refused: " + reloaded.error();
    std::replace(text.begin(), text.end(), '\n', ' ');  // the protocol separates fields by line breaks
    log(reloaded ? LogLevel::info : LogLevel::error, text);
    service.reloaded(text);
  };
  options.stopping = [&service] { service.notify("STOPPING=1\nSTATUS=delivering queued samples"); };
  // Each tick wakes a processor. Without a terminal, drops are reported within 5 s.
  if (!terminal && !options.prints_only) options.tick_ns = 5'000'000'000;
  DropReport drops(engine.ledger().snapshot());
  options.tick = [&] {
    const std::vector<LedgerRow> rows = engine.ledger().snapshot();
    for (const std::string &line : drops.lines(rows, read_clocks().monotonic)) log(LogLevel::warning, line);
    if (live) std::fprintf(stderr, "\r\x1b[K%s", ledger_line(rows).c_str());
  };
  service.notify("READY=1\nSTATUS=running " + path);
  const int status = run_agent(engine, options);
  if (live) std::fputc('\n', stderr);
  const std::vector<LedgerRow> rows = engine.ledger().snapshot();
  log(LogLevel::info, "stopped: " + ledger_line(rows) + "; " + drops_line(rows));
  return status;
}

}  // namespace

const Command run_command = {"run",
                             "FILE...",
                             "Run the pipelines of files; SIGHUP reloads them",
                             "atalaya run pipelines/host.lua\n"
                             "atalaya run pipelines/host.lua pipelines/profile.lua --for 30s\n"
                             "atalaya run --drop /etc/atalaya/atalaya.lua",
                             1,
                             SIZE_MAX,
                             kRunOptions,
                             run_pipelines};

}  // namespace atalaya::core::cli
