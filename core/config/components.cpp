// SPDX-License-Identifier: Apache-2.0
#include "core/config/components.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/file_state.h"
#include "core/base/files.h"
#include "core/base/sample/batch.h"
#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "core/config/check/common_params.h"
#include "core/config/check/validate.h"

namespace atalaya::core {
namespace {

std::string listed(const std::vector<std::string> &names) {
  static constexpr size_t kMost = 20;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) text += (i > 0 ? ", " : "") + names[i];
  return text + (names.size() > kMost ? ", ..." : "");
}

// Why a name is unknown, with a suggestion: a near name, or one of another kind.
std::string unknown_component(const RawComponent &raw, Registry &registry) {
  const std::string kind(kind_name(raw.kind));
  const auto names = registry.names(raw.kind);
  std::string text = kind + " " + in_quotes(raw.name) + " is not known";
  if (const std::string advice = package_advice(raw.kind, raw.name); !advice.empty()) return text + advice;
  for (const uint32_t other : kPipelineKinds)
    if (other != raw.kind && registry.known(other, raw.name))
      return text + "; there is a " + std::string(kind_name(other)) + " of this name: a." + std::string(constructor_name(other)) +
             "." + raw.name;
  const std::string suggestion = did_you_mean(raw.name, names);
  if (!suggestion.empty()) return text + suggestion;
  return text + (names.empty() ? "; no plugin offers a " + kind : "; known are " + listed(names));
}

// The component's parameters and those that the core gives to all of its kind.
std::vector<atalaya_param> all_params(const atalaya_component &component) {
  std::vector<atalaya_param> params;
  const Schema own = schema_of(component);
  for (uint32_t i = 0; i < own.count(); ++i) params.push_back(own.at(i));
  const auto common = common_params(component);
  params.insert(params.end(), common.begin(), common.end());
  return params;
}

Value without_common(const atalaya_component &component, Value written) {
  const auto common = common_params(component);
  const auto is_common = [&](const auto &member) {
    return std::any_of(common.begin(), common.end(), [&](const auto &param) { return view_of(param.name) == member.first; });
  };
  written.map.erase(std::remove_if(written.map.begin(), written.map.end(), is_common), written.map.end());
  return written;
}

WhenFull when_full(const Parameter &parameter) {
  return parameter.text == "drop_oldest"   ? WhenFull::drop_oldest
         : parameter.text == "drop_newest" ? WhenFull::drop_newest
                                           : WhenFull::block;
}

QueueLimits queue_limits(const Parameters &parameters) {
  QueueLimits limits;
  if (const Parameter *queue = parameters.find("queue")) limits.max_bytes = queue->i64;
  if (const Parameter *when = parameters.find("when_full")) limits.when_full = when_full(*when);
  if (const Parameter *spread = parameters.find("spread")) limits.spread_ns = spread->i64;
  return limits;
}

SpoolLimits spool_limits(const Parameters &parameters) {
  SpoolLimits limits;
  const auto number = [&](std::string_view path, int64_t &to) {
    if (const Parameter *parameter = parameters.find(path)) to = parameter->i64;
  };
  const Parameter *dir = parameters.find("spool.dir");
  if (dir == nullptr) return limits;
  limits.dir = std::filesystem::path(state_folder() + "/") / dir->text;  // an absolute path remains unchanged
  limits.dir = std::filesystem::path(limits.dir).lexically_normal();
  number("spool.max", limits.max_bytes);
  number("spool.min_free", limits.min_free_bytes);
  number("spool.max_age", limits.max_age_ns);
  number("spool.sync", limits.sync_ns);
  if (const Parameter *when = parameters.find("spool.when_full")) limits.when_full = when_full(*when);
  return limits;
}

void add_inputs(const Schema &schema, const std::string &above, const Parameters &parameters, std::string &inputs) {
  for (uint32_t i = 0; i < schema.count(); ++i) {
    const atalaya_param &param = schema.at(i);
    const std::string path = above + std::string(view_of(param.name));
    if (param.type == ATALAYA_RECORD) add_inputs({param.items, param.item_count, param.item_size}, path + ".", parameters, inputs);
    if (param.type != ATALAYA_STRING || view_of(param.unit) != kInputFile) continue;
    if (const Parameter *file = parameters.find(path)) inputs += file_state(file->text) + "\n";
  }
}

}  // namespace

std::string text_of(const Problem &problem) {
  return problem.path.empty() ? problem.text : problem.path + ": " + problem.text;
}

std::optional<StageDescription> check_component(const RawComponent &raw, Registry &registry, std::vector<std::string> &problems) {
  if (!registry.known(raw.kind, raw.name)) {
    problems.push_back(unknown_component(raw, registry));
    return std::nullopt;
  }
  const std::string label = std::string(kind_name(raw.kind)) + " " + in_quotes(raw.name) + ": ";
  auto opened = registry.open(raw.kind, raw.name);
  if (!opened) {
    problems.push_back(label + opened.error());
    return std::nullopt;
  }
  StageDescription stage;
  stage.kind = raw.kind;
  stage.name = raw.name;
  stage.where = raw.where;
  stage.component = *opened;
  const atalaya_component &component = *opened->component;

  std::vector<Problem> found = raw.problems;
  const auto params = all_params(component);
  const Schema schema(params.data(), static_cast<uint32_t>(params.size()), sizeof(atalaya_param));
  const Parameters all = Parameters::resolve(schema, raw.parameters, found);
  if (const Parameter *dir = all.find("spool.dir"); dir != nullptr && dir->text.empty())
    found.push_back({"spool.dir", "is empty; name a folder of this sink alone"});
  for (const auto &problem : found) problems.push_back(label + text_of(problem));
  // The plugin gets only declared parameters; the problems were reported above.
  std::vector<Problem> ignored;
  stage.parameters = Parameters::resolve(schema_of(component), without_common(component, raw.parameters), ignored);
  add_inputs(schema_of(component), "", stage.parameters, stage.inputs);
  stage.isolation = isolation_of(all, stage.component);
  if (raw.kind != ATALAYA_SINK) return stage;
  stage.queue = queue_limits(all);
  stage.spool = spool_limits(all);
  return stage;
}

}  // namespace atalaya::core
