// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/mcp/mcp_tools.h"

#include <algorithm>
#include <array>

#include "core/base/text/json_writer.h"
#include "core/base/text/text.h"

namespace atalaya::serve {
namespace {

using Type = McpParam::Type;
using simdjson::dom::element;

constexpr McpParam kFrom{"from", Type::text, "Start: Unix time, RFC 3339, or a duration such as -10m (default: -1h)"};
constexpr McpParam kTo{"to", Type::text, "End (default: now)"};
constexpr McpParam kExperiment{"experiment", Type::text, "The time of this experiment instead of from and to"};
constexpr McpParam kHost{"host", Type::text, "Only this host"};
constexpr McpParam kTag{"tag", Type::texts, "KEY=VALUE: only series with this tag; VALUE may be a glob"};

constexpr std::array kTagsParams = {McpParam{"metric", Type::text, "Only the tags of this metric"}, kHost, kFrom, kTo};
constexpr std::array kQueryParams = {
    McpParam{"metric", Type::texts, "Exact name; several of one unit are added up, such as proc.cpu.user and proc.cpu.kernel",
             true},
    McpParam{"group_by", Type::texts, "Tags to group by, such as process or host; without them, one series: the sum"},
    McpParam{"aggregate", Type::text, "Function within a group: zimsum (default), avg, min, max, count, p99, ..."},
    McpParam{"points", Type::integer, "Maximum intervals of a series (default here: 60)"},
    McpParam{"every", Type::text, "Length of an interval instead of points, such as 1m; 0all: one value"},
    McpParam{"top", Type::integer, "Maximum series, those with the largest integrals (default: 50)"},
    kHost,
    kTag,
    kFrom,
    kTo,
    kExperiment};
constexpr std::array kTopParams = {
    McpParam{"sort", Type::text, "cpu (default), memory, reads, writes, in, out, threads, gc"},
    McpParam{"limit", Type::integer, "Maximum rows (default here: 20)"},
    McpParam{"filter", Type::text, "Only rows whose host, pid, process or container contains this text"},
    kHost,
    kTag,
    kFrom,
    kTo,
    kExperiment};
constexpr std::array kExplainParams = {
    McpParam{
        "against", Type::text,
        "Baseline: before (default: the same length of time just before), yesterday, FROM..TO, an experiment, host=NAME, or hosts "
        "(the mean of all hosts but the one of host)"},
    McpParam{"by", Type::text, "Parts of a difference: process (default), pid, container, unit, user, cgroup, host"},
    McpParam{"top", Type::integer, "Maximum parts of a difference by name (default: 5)"},
    kHost,
    kTag,
    kFrom,
    kTo,
    kExperiment};
constexpr std::array kFlameParams = {
    McpParam{"profile", Type::text, "cpu (default), offcpu: waiting, or wall: thread dumps of JVMs"},
    McpParam{"limit", Type::integer, "Maximum functions, and maximum stacks (default: 20)"},
    McpParam{"process", Type::text, "Only this process"},
    McpParam{"pid", Type::text, "Only this process id"},
    kHost,
    kTag,
    kFrom,
    kTo,
    kExperiment};
constexpr std::array kGraphParams = {
    McpParam{"by", Type::text, "A node: process (default), command, container, host"}, kHost, kTag, kFrom, kTo, kExperiment};
constexpr std::array kRangeParams = {kHost, kFrom, kTo, kExperiment};
constexpr std::array kJobParams = {
    McpParam{"id", Type::text, "Id of the job, from jobs", true},
    McpParam{"limit", Type::integer, "Maximum tasks in the answer (default here: 0, only the findings)"}};
constexpr std::array kSpanParams = {McpParam{"kind", Type::text, "phase (default), anomaly, alert, job, stage, task or region"},
                                    kHost,
                                    kTag,
                                    kFrom,
                                    kTo,
                                    kExperiment};

constexpr std::array kTools = {
    McpTool{"info", "The store, its hosts, and the server's time", "info", {}},
    McpTool{"metrics", "All metrics of the store: unit, kind and meaning", "metrics", {}},
    McpTool{"tags", "Tags and their values in a time range", "tags", kTagsParams},
    McpTool{"experiments", "Named time ranges, with their workloads", "experiments", {}},
    McpTool{"query", "Values of a metric over time, aggregated and grouped by tags", "series", kQueryParams},
    McpTool{"top", "Processes of a time range with their mean CPU, memory, disk, network, threads and garbage collection",
            "processes", kTopParams},
    McpTool{"explain", "What changed against a baseline, beyond chance, with evidence; and what did not change", "explain",
            kExplainParams},
    McpTool{"flamegraph", "The functions and call stacks that took the most CPU or waiting time", "functions", kFlameParams},
    McpTool{"graph", "Who talks to whom: bytes between processes, containers or hosts", "graph", kGraphParams},
    McpTool{"jobs", "Jobs of Hadoop, Spark and other frameworks in a time range", "jobs", kRangeParams},
    McpTool{"bottleneck", "Why a job was slow: findings with their evidence, slow tasks per node", "job", kJobParams},
    McpTool{"spans", "Phases, anomalies, alerts, tasks and other named times", "spans", kSpanParams},
    McpTool{"health", "State of the agent on the server's host: its ledger of samples, queues and losses", "health", {}},
};

// Defaults that differ from those of the page, whose answers are made for a screen.
struct Default {
  std::string_view path, name, value;
};
constexpr std::array kDefaults = {Default{"series", "points", "60"}, Default{"processes", "limit", "20"},
                                  Default{"job", "limit", "0"}};

void write_param(core::JsonWriter &json, const McpParam &param) {
  json.key(param.name).object();
  if (param.type == Type::texts)
    json.key("type").text("array").key("items").object().key("type").text("string").end_object();
  else
    json.key("type").text(param.type == Type::integer ? "integer" : "string");
  json.key("description").text(param.summary).end_object();
}

void write_schema(core::JsonWriter &json, const McpTool &tool) {
  json.object().key("type").text("object").key("properties").object();
  for (const McpParam &param : tool.params) write_param(json, param);
  json.end_object().key("required").list();
  for (const McpParam &param : tool.params)
    if (param.required) json.text(param.name);
  json.end_list().key("additionalProperties").boolean(false).end_object();
}

// Checks an argument; returns an error message, or "" if it is valid.
std::string read_argument(const McpParam &param, const element &value, Request &request) {
  std::string name(param.name);
  std::string_view text;
  int64_t number = 0;
  if (param.type == Type::integer) {
    if (value.get(number) != simdjson::SUCCESS) return name + ": not a whole number";
    request.arguments.emplace_back(std::move(name), std::to_string(number));
    return "";
  }
  if (value.get(text) == simdjson::SUCCESS) {
    request.arguments.emplace_back(std::move(name), text);
    return "";
  }
  simdjson::dom::array list;
  if (param.type != Type::texts || value.get(list) != simdjson::SUCCESS) return name + ": not a text";
  for (const element one : list) {
    if (one.get(text) != simdjson::SUCCESS) return name + ": not a list of texts";
    request.arguments.emplace_back(name, text);
  }
  return "";
}

std::string known_names(const McpTool &tool) {
  std::string names;
  for (const McpParam &param : tool.params) names += (names.empty() ? "" : ", ") + std::string(param.name);
  return names.empty() ? "it has none" : "it has " + names;
}

}  // namespace

const McpTool *mcp_tool(std::string_view name) {
  const auto *found = std::find_if(kTools.begin(), kTools.end(), [&](const McpTool &tool) { return tool.name == name; });
  return found == kTools.end() ? nullptr : found;
}

std::string mcp_tools_json() {
  core::JsonWriter json;
  json.list();
  for (const McpTool &tool : kTools) {
    json.object().key("name").text(tool.name).key("description").text(tool.summary);
    write_schema(json.key("inputSchema"), tool);
    json.key("annotations")
        .object()
        .key("readOnlyHint")
        .boolean(true)
        .key("openWorldHint")
        .boolean(false)
        .end_object()
        .end_object();
  }
  return json.end_list().take();
}

McpRequest mcp_request(const McpTool &tool, const element *arguments) {
  McpRequest read;
  read.request.method = "GET";
  read.request.path = "/api/page/" + std::string(tool.path);
  simdjson::dom::object object;
  if (arguments != nullptr && arguments->get(object) != simdjson::SUCCESS) {
    read.error = "the arguments are not an object";
    return read;
  }
  if (arguments != nullptr)
    for (const auto [name, value] : object) {
      const auto param =
          std::find_if(tool.params.begin(), tool.params.end(), [&key = name](const McpParam &one) { return one.name == key; });
      read.error = param == tool.params.end() ? "unknown parameter " + core::in_quotes(std::string(name)) + " of " +
                                                    std::string(tool.name) + "; " + known_names(tool)
                                              : read_argument(*param, value, read.request);
      if (!read.error.empty()) return read;
    }
  for (const McpParam &param : tool.params)
    if (param.required && read.request.argument(param.name) == nullptr) read.error = std::string(param.name) + " is missing";
  for (const Default &one : kDefaults)
    if (one.path == tool.path && read.request.argument(one.name) == nullptr)
      read.request.arguments.emplace_back(one.name, one.value);
  return read;
}

}  // namespace atalaya::serve
