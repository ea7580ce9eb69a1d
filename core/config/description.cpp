// SPDX-License-Identifier: Apache-2.0
#include "core/config/description.h"

#include <algorithm>

namespace atalaya::core {

bool same(const StageDescription &a, const StageDescription &b) {
  return a.kind == b.kind && a.name == b.name && a.component.component == b.component.component && a.parameters == b.parameters &&
         a.inputs == b.inputs && a.function == b.function && a.on_error == b.on_error && a.isolation == b.isolation &&
         a.queue == b.queue && a.spool == b.spool;
}

bool same(const std::vector<StageDescription> &a, const std::vector<StageDescription> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto &x, const auto &y) { return same(x, y); });
}

bool has_function(const PipelineDescription &pipeline) {
  return std::any_of(pipeline.stages.begin(), pipeline.stages.end(), [](const auto &stage) { return stage.function != 0; });
}

}  // namespace atalaya::core
