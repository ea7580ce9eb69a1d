// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline/component_names.h"

#include "core/base/files.h"

namespace atalaya::core {

Error at_location(const Location &where, const std::string &pipeline, const StageDescription &stage, const std::string &text) {
  std::string line = prefix_of(where);
  if (!pipeline.empty()) line += "pipeline \"" + pipeline + "\": ";
  return {line + std::string(kind_name(stage.kind)) + " \"" + stage.name + "\": " + text};
}

std::string component_label(const std::string &pipeline, const StageDescription &stage) {
  return "pipeline \"" + pipeline + "\": " + std::string(kind_name(stage.kind)) + " \"" + stage.name + "\"";
}

std::string ledger_name(size_t position, const StageDescription &stage) {
  std::string name = std::to_string(position) + " ";
  if (stage.function != 0) return name + "function";
  return name + std::string(kind_name(stage.kind)) + " " + stage.name;
}

std::string component_state_dir(const PipelineDescription &pipeline, const StageDescription &stage) {
  int ordinal = 1;
  for (const auto *list : {&pipeline.sources, &pipeline.stages})
    for (const StageDescription &other : *list)
      if (&other < &stage && other.kind == stage.kind && other.name == stage.name) ++ordinal;
  const std::string number = ordinal == 1 ? "" : " " + std::to_string(ordinal);
  return state_folder() + "/" + pipeline.name + "/" + std::string(kind_name(stage.kind)) + " " + stage.name + number;
}

bool retains_samples(const StageDescription &stage) {
  return stage.function == 0 && (stage.component.component->flags & ATALAYA_HOLDS) != 0;
}

}  // namespace atalaya::core
