// SPDX-License-Identifier: Apache-2.0
// atalaya doctor: the features of all installed components, their states, and how to turn them on.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "core/base/status_socket.h"
#include "core/cli/cli.h"
#include "core/cli/features.h"

#include "core/base/files.h"
#include "core/base/log.h"
#include "core/base/text/json_writer.h"
#include "core/base/text/suggest.h"
#include "core/base/text/text.h"

namespace atalaya::core::cli {
namespace {

std::string state_word(Met state) {
  return state == Met::yes ? "on" : state == Met::no ? "off" : "unknown";
}

std::string met_word(Met met) {
  return met == Met::yes ? "yes" : met == Met::no ? "no" : "unknown";
}

std::string type_word(uint32_t type) {
  return type == ATALAYA_NEED_CAPABILITY ? "capability" : type == ATALAYA_NEED_FILE ? "file" : "kernel";
}

constexpr size_t kTerminal = 80;

// Words within 80 columns, each line with the indent.
void append_wrapped(std::string &out, const std::string &indent, std::string_view words) {
  std::string line;
  while (!words.empty()) {
    const std::string_view word = cut_at(words, ' ');
    if (!line.empty() && line.size() + 1 + word.size() > kTerminal) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? indent : " ") + std::string(word);
  }
  if (!line.empty()) out += line + "\n";
}

std::vector<Feature> in_state(const std::vector<Feature> &features, Met state) {
  std::vector<Feature> found;
  for (const Feature &feature : features)
    if (feature.state() == state) found.push_back(feature);
  return found;
}

// A feature that is not on: its unmet needs, with their effects and remedies.
void append_feature(std::string &out, const Feature &feature) {
  out += "  " + feature.name + " (" + feature.kind + ")\n";
  if (!feature.broken.empty()) append_wrapped(out, "    ", feature.broken);
  for (const FeatureNeed &need : feature.needs) {
    if (need.met == Met::yes) continue;
    append_wrapped(out, "    ", (need.met == Met::no ? "no " : "unknown: ") + need.name + ": " + need.lost);
    append_wrapped(out, "      ", need.short_remedy.empty() ? need.remedy : need.short_remedy);
  }
}

std::string as_text(const std::vector<Feature> &features) {
  std::string out;
  bool has_drop_in = false;
  for (const auto &[state, title] : {std::pair(Met::no, "off"), std::pair(Met::unknown, "unknown")}) {
    const std::vector<Feature> found = in_state(features, state);
    if (!found.empty()) out += std::string(title) + ": " + std::to_string(found.size()) + "\n";
    for (const Feature &feature : found) append_feature(out, feature);
    for (const Feature &feature : found)
      has_drop_in = has_drop_in || std::any_of(feature.needs.begin(), feature.needs.end(),
                                               [](const FeatureNeed &need) { return !need.short_remedy.empty(); });
  }
  const std::vector<Feature> on = in_state(features, Met::yes);
  std::string names;
  for (const Feature &feature : on) names += (names.empty() ? "" : ", ") + feature.name;
  out += "on: " + std::to_string(on.size()) + "\n";
  append_wrapped(out, "  ", names);
  return has_drop_in ? out + drop_in_help() : out;
}

void write_json(JsonWriter &json, const Feature &feature) {
  json.object().key("feature").text(feature.name).key("kind").text(feature.kind).key("component").text(feature.component);
  json.key("state").text(state_word(feature.state())).key("problem").text(feature.broken);
  json.key("drop_in").text(feature.needs_capability() ? drop_in_path(feature) : "").key("needs").list();
  for (const FeatureNeed &need : feature.needs) {
    json.object().key("type").text(type_word(need.type)).key("name").text(need.name).key("optional").boolean(need.optional);
    json.key("met").text(met_word(need.met)).key("if_missing").text(need.lost).key("remedy").text(need.remedy).end_object();
  }
  json.end_list().end_object();
}

std::string as_json(const std::vector<Feature> &features) {
  JsonWriter json;
  json.list();
  for (const Feature &feature : features) write_json(json.line(), feature);
  return json.end_list().take() + "\n";
}

// 0: the status does not contain it.
int pid_in(const std::string &status, std::string_view key) {
  const size_t at = status.find(key);
  return at == std::string::npos ? 0 : std::atoi(status.c_str() + at + key.size());
}

Result<Subject> running_agent(const Arguments &arguments) {
  auto status = ask_status(arguments.get("--socket").value_or(default_status_socket()), true);
  if (!status) return Error{status.error()};
  const int pid = pid_in(*status, "\"pid\":"), launcher = pid_in(*status, "\"launcher\":");
  if (pid <= 0) return Error{"the agent's status has no pid: it may be an older version; restart it"};
  auto agent = subject_of_process(pid);
  if (!agent || launcher <= 0) return agent;
  // The launcher keeps the capabilities that the agent gave up, for the processes of the components that declare them.
  if (auto given = subject_of_process(launcher); given) agent->capabilities |= given->capabilities;
  return agent;
}

// The agent runs the doctor like this; its launcher has the capabilities that the agent gave up.
Result<Subject> this_process(const Arguments &arguments) {
  auto subject = subject_of_process(0);
  if (const auto launcher = arguments.get("--launcher"); launcher && subject) {
    const auto pid = parse_number(*launcher);
    if (!pid || *pid <= 0 || *pid > INT32_MAX) return Error{"--launcher " + *launcher + ": not a process id"};
    const auto given = capabilities_of(static_cast<int>(*pid));
    if (!given) return Error{given.error()};
    subject->capabilities |= given.value();
  }
  return subject;
}

int print_drop_in(const std::vector<Feature> &features, const std::string &wanted) {
  std::vector<std::string> names;
  for (const Feature &feature : features) {
    if (feature.needs_capability()) names.push_back(feature.name);
    if (feature.name != wanted) continue;
    const std::string text = drop_in_text(feature);
    if (text.empty()) log(LogLevel::info, in_quotes(wanted) + " needs no capability and no drop-in");
    std::fputs(text.c_str(), stdout);
    return kDone;
  }
  std::string known;
  for (const std::string &name : names) known += (known.empty() ? "" : ", ") + name;
  log(LogLevel::error, "--drop-in: feature " + in_quotes(wanted) + " is not known" + did_you_mean(wanted, names) +
                           "; features with a drop-in: " + known);
  return kWrongUse;
}

// Writes one file per feature that needs a capability, as in the package.
int write_drop_ins(const std::vector<Feature> &features, const std::string &folder) {
  if (const Status made = make_folders(folder); !made) {
    log(LogLevel::error, made.error());
    return kFailed;
  }
  std::set<std::string> written;
  for (const Feature &feature : features) {
    if (!feature.needs_capability()) continue;
    const std::string path = folder + "/" + feature.name + ".conf", text = drop_in_text(feature);
    if (!written.insert(feature.name).second) {
      log(LogLevel::error, "two components have a feature " + in_quotes(feature.name) + "; rename one of them");
      return kFailed;
    }
    FILE *file = std::fopen(path.c_str(), "we");
    const bool put = file != nullptr && std::fputs(text.c_str(), file) >= 0;
    if (file == nullptr || std::fclose(file) != 0 || !put) {
      log(LogLevel::error, "cannot write " + path + ": " + error_text(errno));
      return kFailed;
    }
  }
  return kDone;
}

int doctor(const Arguments &arguments) {
  const std::string format = arguments.get("--format").value_or("table");
  if (format != "table" && format != "json") {
    log(LogLevel::error, "--format: " + in_quotes(format) + " is not one of table, json");
    return kWrongUse;
  }
  const std::string given = arguments.get("--plugins").value_or("");
  // A package's drop-ins come from its own plugins, not from those of the build host.
  const bool only_given = arguments.has("--drop-ins") && !given.empty();
  Registry registry = Registry::scan(only_given ? std::vector{given} : Registry::default_folders(given));
  for (const std::string &line : registry.refused()) log(LogLevel::warning, line);
  std::vector<Feature> features = features_of(registry);
  if (const auto name = arguments.get("--drop-in")) return print_drop_in(features, *name);
  if (const auto folder = arguments.get("--drop-ins"))
    return registry.refused().empty() ? write_drop_ins(features, *folder) : kFailed;

  auto subject = arguments.has("--unit") ? running_agent(arguments) : this_process(arguments);
  if (!subject) {
    log(LogLevel::error, subject.error());
    return kFailed;
  }
  examine(features, *subject);
  std::fputs((format == "json" ? as_json(features) : as_text(features)).c_str(), stdout);
  bool failed = !registry.refused().empty();
  for (const Feature &feature : features) failed = failed || feature.failed();
  return failed ? kFailed : kDone;
}

constexpr OptionSpec kDoctorOptions[] = {
    {"--format", "table|json", "Output format (default: table)"},
    {"--unit", "", "Examine the running agent instead of this process (needs root)"},
    {"--launcher", "PID", "Count the capabilities of the agent's launcher as well"},
    {"--socket", "PATH", "Socket of the agent (default: status.sock in the runtime folder)"},
    {"--drop-in", "FEATURE", "Print the unit's drop-in that turns on a feature"},
    {"--drop-ins", "DIR", "Write the drop-ins of all features to a folder"},
};

}  // namespace

const Command doctor_command = {
    .name = "doctor",
    .operands = "",
    .summary = "List every feature, its state and how to turn it on",
    .example =
        "atalaya doctor\n"
        "atalaya doctor --unit\n"
        "atalaya doctor --drop-in proc-bpf",
    .min_operands = 0,
    .max_operands = 0,
    .options = kDoctorOptions,
    .run = doctor,
};

}  // namespace atalaya::core::cli
