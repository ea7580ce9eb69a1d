// SPDX-License-Identifier: Apache-2.0
#include "core/config/combine.h"

#include <algorithm>
#include <string_view>

#include "core/base/sample/batch.h"
#include "core/base/text/text.h"
#include "core/base/text/units.h"

namespace atalaya::core {
namespace {

std::string label_of(const StageDescription &stage) {
  return std::string(constructor_name(stage.kind)) + " " + in_quotes(stage.name);
}

std::string every_text(int64_t every_ns) {
  return every_ns > 0 ? format_duration(every_ns) : "missing";
}

// The first stage that differs.
std::string difference(const std::vector<StageDescription> &there, const std::vector<StageDescription> &here) {
  const auto [a, b] =
      std::mismatch(there.begin(), there.end(), here.begin(), here.end(), [](const auto &x, const auto &y) { return same(x, y); });
  if (a == there.end() && b == here.end()) return "";
  if (a == there.end()) return label_of(*b) + " is only here";
  if (b == here.end()) return label_of(*a) + " is only there";
  if (a->name != b->name || a->kind != b->kind) return label_of(*a) + " is there and " + label_of(*b) + " here";
  return label_of(*b) + " has other parameters";
}

bool share_sink(const PipelineDescription &a, const PipelineDescription &b) {
  return std::any_of(a.sinks.begin(), a.sinks.end(),
                     [&b](size_t sink) { return std::find(b.sinks.begin(), b.sinks.end(), sink) != b.sinks.end(); });
}

const StageDescription *shared_source(const PipelineDescription &a, const PipelineDescription &b) {
  for (const StageDescription &source : a.sources)
    for (const StageDescription &other : b.sources)
      if (source.name == other.name && source.component.component == other.component.component) return &source;
  return nullptr;
}

}  // namespace

std::string difference(const PipelineDescription &there, const PipelineDescription &here) {
  if (has_function(there) || has_function(here)) return "it has a function, which cannot be compared";
  if (there.every_ns != here.every_ns && (there.every_ns <= 0 || here.every_ns <= 0))
    return "every is " + every_text(there.every_ns) + " there and " + every_text(here.every_ns) + " here";
  if (there.from != here.from) return "a.from names another pipeline";
  std::string text = difference(there.sources, here.sources);
  return text.empty() ? difference(there.stages, here.stages) : text;
}

std::string place_text(const Location &where, const Location &here) {
  const std::string line = std::to_string(where.line);
  return where.file == here.file ? "line " + line : where.file + ":" + line;
}

void warn_of_repeated_sources(const std::vector<size_t> &files, Validation &validation) {
  const auto &pipelines = validation.description.pipelines;
  for (size_t i = 0; i < pipelines.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const StageDescription *source = shared_source(pipelines[i], pipelines[j]);
      if (files[i] == files[j] || source == nullptr || !share_sink(pipelines[i], pipelines[j])) continue;
      // A function may remove what the other pipeline stores.
      if (has_function(pipelines[i]) || has_function(pipelines[j])) continue;
      validation.warnings.push_back({source->where, "pipeline " + in_quotes(pipelines[i].name) + ": " + label_of(*source) +
                                                        " also feeds this sink from pipeline " + in_quotes(pipelines[j].name) +
                                                        " (" + place_text(pipelines[j].where, source->where) +
                                                        "); values that both collect are stored twice"});
      break;
    }
  }
}

}  // namespace atalaya::core
