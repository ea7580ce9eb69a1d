// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/evaluate.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

// A constructor call checked against its component's schema. The problems' texts begin with the component: source "proc": ...
std::optional<StageDescription> check_component(const RawComponent &raw, Registry &registry, std::vector<std::string> &problems);

// "path: text", or the text alone.
std::string text_of(const Problem &problem);

}  // namespace atalaya::core
