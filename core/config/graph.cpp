// SPDX-License-Identifier: Apache-2.0
#include "core/config/graph.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/base/text/text.h"
#include "core/base/text/units.h"
#include "core/config/check/common_params.h"

namespace atalaya::core {
namespace {

bool is_name(std::string_view key) {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !key.empty() && key.find_first_not_of(kLetters) == std::string_view::npos && (key.front() < '0' || key.front() > '9');
}

std::string assignment(const Parameter &parameter);

// A long value, such as a library of rules, is shown by its size.
std::string members(const Parameter &parameter) {
  static constexpr size_t kLongest = 400;
  std::string text;
  for (const auto &child : parameter.children) text += (text.empty() ? "" : ", ") + assignment(child);
  if (text.size() > kLongest) text = std::to_string(parameter.children.size()) + " elements";
  return text.empty() ? "{}" : "{ " + text + " }";
}

// The value in the syntax of a pipeline file.
std::string value_text(const Parameter &parameter) {
  switch (parameter.type) {
    case ATALAYA_BOOL:
      return parameter.i64 != 0 ? "true" : "false";
    case ATALAYA_INT:
      return std::to_string(parameter.i64);
    case ATALAYA_NUMBER:
      return number_text(parameter.f64);
    case ATALAYA_DURATION:
      return in_quotes(format_duration(parameter.i64));
    case ATALAYA_SIZE:
      return in_quotes(format_size(parameter.i64));
    case ATALAYA_STRING:
    case ATALAYA_ENUM:
      return in_quotes(parameter.text);
    default:
      return members(parameter);
  }
}

std::string assignment(const Parameter &parameter) {
  if (parameter.key.empty()) return value_text(parameter);
  const std::string key = is_name(parameter.key) ? parameter.key : "[" + in_quotes(parameter.key) + "]";
  return key + " = " + value_text(parameter);
}

std::string when_full_text(WhenFull when) {
  return when == WhenFull::drop_oldest ? "drop_oldest" : when == WhenFull::drop_newest ? "drop_newest" : "block";
}

std::string spool_text(const SpoolLimits &spool) {
  std::string text = "spool = { dir = " + in_quotes(spool.dir) + ", max = " + in_quotes(format_size(spool.max_bytes));
  if (spool.max_age_ns > 0) text += ", max_age = " + in_quotes(format_duration(spool.max_age_ns));
  return text + ", sync = " + in_quotes(format_duration(spool.sync_ns)) +
         ", when_full = " + in_quotes(when_full_text(spool.when_full)) + " }";
}

// Parameters that differ from the defaults.
std::string differences(const StageDescription &stage) {
  std::vector<Problem> ignored;  // required parameters have no default
  std::string text;
  const auto add = [&text](const std::string &part) { text += (text.empty() ? "" : ", ") + part; };
  const Parameters defaults = Parameters::resolve(schema_of(*stage.component.component), {}, ignored);
  for (const auto &parameter : stage.parameters.find("")->children) {
    const auto &usual = defaults.find("")->children;
    if (std::find(usual.begin(), usual.end(), parameter) == usual.end()) add(assignment(parameter));
  }
  if (stage.isolation.on) add("isolate = true");
  const Parameters limits = isolation_defaults(*stage.component.component);
  std::string written;
  if (stage.isolation.cpu_percent != 0) written = "cpu = " + std::to_string(stage.isolation.cpu_percent);
  if (stage.isolation.memory_bytes != limits.find("memory")->i64)
    written += (written.empty() ? "" : ", ") + ("memory = " + in_quotes(format_size(stage.isolation.memory_bytes)));
  if (stage.isolation.time_ns != limits.find("time")->i64)
    written += (written.empty() ? "" : ", ") + ("time = " + in_quotes(format_duration(stage.isolation.time_ns)));
  if (stage.isolation.on && !written.empty()) add("isolation = { " + written + " }");
  if (stage.kind != ATALAYA_SINK) return text;
  const Parameters common = Parameters::resolve(common_sink_params(), {}, ignored);
  if (stage.queue.max_bytes != common.find("queue")->i64) add("queue = " + in_quotes(format_size(stage.queue.max_bytes)));
  const std::string when = when_full_text(stage.queue.when_full);
  if (when != common.find("when_full")->text) add("when_full = " + in_quotes(when));
  if (stage.queue.spread_ns != 0) add("spread = " + in_quotes(format_duration(stage.queue.spread_ns)));
  if (!stage.spool.dir.empty()) add(spool_text(stage.spool));
  return text;
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

void append_line(std::string &out, const Location &where, const std::string &kind, const std::string &name,
                 const std::string &rest) {
  const std::string line = std::to_string(where.line);
  std::string text =
      (line.size() < 5 ? std::string(5 - line.size(), ' ') : "") + line + "  " + padded(kind, 12) + padded(name, 12) + rest;
  text.erase(text.find_last_not_of(' ') + 1);
  out += text + "\n";
}

// `file` is the heading's file.
void append_stage(std::string &out, const StageDescription &stage, const std::string &file) {
  const std::string elsewhere = stage.where.file == file ? "" : "  (" + stage.where.file + ")";
  if (stage.function != 0) {
    append_line(out, stage.where, "function", "", (stage.on_error == OnError::pass ? "on_error = \"pass\"" : "") + elsewhere);
  } else {
    append_line(out, stage.where, std::string(kind_name(stage.kind)), stage.name, differences(stage) + elsewhere);
  }
}

}  // namespace

std::string graph_text(const FileDescription &file) {
  std::string out;
  for (const auto &pipeline : file.pipelines) {
    if (!out.empty()) out += '\n';
    out += "pipeline " + in_quotes(pipeline.name);
    if (pipeline.every_ns > 0) out += ", every " + format_duration(pipeline.every_ns);
    if (file.paths.size() > 1) out += "  (" + pipeline.where.file + ")";
    out += '\n';
    if (!pipeline.from.empty()) append_line(out, pipeline.where, "from", pipeline.from, "");
    const std::string &named = pipeline.where.file;
    for (const auto &source : pipeline.sources) append_stage(out, source, named);
    for (const auto &stage : pipeline.stages) append_stage(out, stage, named);
    for (const size_t sink : pipeline.sinks) append_stage(out, file.sinks[sink], named);
  }
  return out;
}

}  // namespace atalaya::core
