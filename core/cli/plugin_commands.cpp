// SPDX-License-Identifier: Apache-2.0
#include "core/cli/plugin_commands.h"
#include "core/cli/cli.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "core/base/files.h"
#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "core/control/agent.h"
#include "core/plugin/describe/parameters.h"
#include "core/plugin/instance.h"

namespace atalaya::core::cli {
namespace {

// "group_by" is --group-by; a name of one letter is -o.
std::string option_name(std::string_view parameter) {
  std::string name = (parameter.size() == 1 ? "-" : "--") + std::string(parameter);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string value_word(const atalaya_param &param) {
  switch (param.type) {
    case ATALAYA_BOOL:
      return "";
    case ATALAYA_INT:
    case ATALAYA_NUMBER:
      return "N";
    case ATALAYA_DURATION:
      return "DURATION";
    case ATALAYA_SIZE:
      return "SIZE";
    case ATALAYA_ENUM:
      return text_of(param.allowed);
    default:
      if (is_file(param)) return "FILE";
      return param.unit.size > 0 ? text_of(param.unit) : "TEXT";
  }
}

std::string summary_of(const atalaya_param &param) {
  std::string text(view_of(param.summary)), notes;
  if (param.type == ATALAYA_LIST) notes = "repeatable";
  if (param.default_text.size > 0 && param.type != ATALAYA_BOOL)
    notes += (notes.empty() ? "" : "; ") + ("default: " + text_of(param.default_text));
  return notes.empty() ? text : text + " (" + notes + ")";
}

bool is_required(const atalaya_param &param) {
  return (param.flags & ATALAYA_REQUIRED) != 0 && param.default_text.size == 0;
}

Value list_of(const atalaya_param &param, const std::vector<std::string> &words) {
  const Schema items(param.items, param.item_count, param.item_size);
  Value list;
  list.type = Value::Type::table;
  for (const std::string &word : words) list.list.push_back(value_from_text(items.at(0), word));
  return list;
}

// The command line's words converted to the types of the schema.
Value written_options(const Schema &schema, const Arguments &arguments) {
  Value table;
  table.type = Value::Type::table;
  for (uint32_t i = 0; i < schema.count(); ++i) {
    const atalaya_param param = schema.at(i);
    const auto given = arguments.options.find(option_name(view_of(param.name)));
    if (given == arguments.options.end()) continue;
    Value value = param.type == ATALAYA_LIST && param.item_count > 0
                      ? list_of(param, given->second)
                      : value_from_text(param, param.type == ATALAYA_BOOL ? "true" : given->second.back());
    table.map.emplace_back(view_of(param.name), std::move(value));
  }
  return table;
}

// A message for each required option that is missing.
std::vector<std::string> missing_options(const Schema &schema, const Arguments &arguments) {
  std::vector<std::string> missing;
  for (uint32_t i = 0; i < schema.count(); ++i) {
    const atalaya_param param = schema.at(i);
    const std::string name = option_name(view_of(param.name));
    if (!is_required(param) || arguments.has(name)) continue;
    std::string text = name + " is missing; write ";
    text.append(name).append(" ").append(value_word(param));
    missing.push_back(std::move(text));
  }
  return missing;
}

// SIGINT and SIGTERM interrupt the command instead of ending the process while an object of this class exists.
class Signals {
 public:
  explicit Signals(Instance &instance) {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGUSR2}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    waiter_ = std::thread([this, &instance] { wait(instance); });
  }
  Signals(const Signals &) = delete;
  Signals &operator=(const Signals &) = delete;
  ~Signals() {
    ended_ = true;
    pthread_kill(waiter_.native_handle(), SIGUSR2);
    waiter_.join();
  }

 private:
  void wait(Instance &instance) {
    // After the first signal, interrupt() is called repeatedly until the command returns, as plugin.h specifies.
    const timespec again{0, 100'000'000};
    bool interrupted = false;
    while (!ended_) {
      const int signal = interrupted ? sigtimedwait(&set_, nullptr, &again) : sigwaitinfo(&set_, nullptr);
      if (ended_) return;
      interrupted = interrupted || signal == SIGINT || signal == SIGTERM;
      if (interrupted) instance.interrupt();
    }
  }

  sigset_t set_{};
  std::atomic<bool> ended_{false};
  std::thread waiter_;
};

int fail(const std::string &label, const std::string &text, int status) {
  std::fprintf(stderr, "%s: %s\n", label.c_str(), text.c_str());
  return status;
}

int exit_status_of(const Outcome &outcome) {
  return outcome.code == ATALAYA_BAD_CONFIG ? kWrongUse : kFailed;
}

// Incomplete output (full disk, closed pipe) is a failure, so that no script takes it for the whole result.
int flushed(const std::string &label, int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  end_if_output_is_closed();
  const std::string reason = errno != 0 ? error_text(errno) : "writing to standard output failed";
  return fail(label, "the output is not complete: " + reason, status == kDone ? kFailed : status);
}

int work(Instance &instance, const std::vector<std::string> &words) {
  // Signals are blocked before the command starts its first thread, so that only the thread of Signals receives them.
  std::unique_ptr<Signals> signals;
  if (instance.component().ops->interrupt != nullptr) signals = std::make_unique<Signals>(instance);
  signal(SIGPIPE, SIG_IGN);
  Outcome outcome = instance.start();
  int32_t status = kDone;
  if (outcome.ok()) outcome = instance.command(words, status);
  if (!outcome.ok()) return fail(instance.label(), outcome.text, exit_status_of(outcome));
  return flushed(instance.label(), status);
}

// A command runs in this process, wherever its file is: it needs the user's rights and the terminal.
int run(const Registry::Component &component, const Arguments &arguments) {
  const std::string label = "atalaya " + text_of(component.component->name);
  std::vector<Problem> problems;
  const Schema schema = schema_of(*component.component);
  const std::vector<std::string> missing = missing_options(schema, arguments);
  for (const std::string &text : missing) fail(label, text, kWrongUse);
  if (!missing.empty()) return kWrongUse;
  Parameters parameters = Parameters::resolve(schema, written_options(schema, arguments), problems);
  for (const Problem &problem : problems)
    fail(label, (problem.path.empty() ? "" : option_name(problem.path) + ": ") + problem.text, kWrongUse);
  if (!problems.empty()) return kWrongUse;
  Symbols symbols;
  declare_metrics(*component.component, symbols);
  Surroundings surroundings;
  auto instance = Instance::create(component, std::move(parameters), label, symbols, surroundings);
  if (!instance) {
    std::fprintf(stderr, "%s\n", instance.error().c_str());
    return kWrongUse;
  }
  return work(**instance, arguments.positional);
}

bool has_command_words(const atalaya_component &component) {
  return component.struct_size >= offsetof(atalaya_component, example) + sizeof(atalaya_str);
}

}  // namespace

void PluginCommands::add_option(Row &row, const atalaya_param &param) {
  const std::string_view name = row.texts.emplace_back(option_name(view_of(param.name)));
  const std::string_view value = row.texts.emplace_back(value_word(param));
  row.options.push_back({name, value, row.texts.emplace_back(summary_of(param)), param.type == ATALAYA_LIST, is_required(param)});
}

Result<const Command *> PluginCommands::row(std::string_view name) {
  auto opened = registry_.open(ATALAYA_COMMAND, name);
  if (!opened) return Error{opened.error()};
  const atalaya_component &component = *opened->component;
  Row &row = rows_.emplace_back();
  row.component = *opened;
  row.name = view_of(component.name);
  row.summary = view_of(component.summary);
  if (has_command_words(component)) {
    row.operands = view_of(component.operands);
    const size_t end = std::min(row.operands.find('\n'), row.operands.size());
    row.meanings = row.operands.substr(std::min(end + 1, row.operands.size()));
    row.operands.resize(end);
    row.example = view_of(component.example);
  }
  const Schema schema = schema_of(component);
  for (uint32_t i = 0; i < schema.count(); ++i) add_option(row, schema.at(i));
  row.command = {row.name,    row.operands,
                 row.summary, row.example,
                 0,           row.operands.empty() ? 0 : SIZE_MAX,
                 row.options, [used = row.component](const Arguments &arguments) { return run(used, arguments); },
                 row.meanings};
  return &row.command;
}

}  // namespace atalaya::core::cli
