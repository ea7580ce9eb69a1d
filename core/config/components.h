// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/evaluate.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

// Checks a constructor call against its component's schema. The problems start with the component's name: source "proc": ...
std::optional<StageDescription> check_component(const RawComponent &raw, Registry &registry, std::vector<std::string> &problems);

// "path: text"; only the text for a problem without a path.
std::string text_of(const Problem &problem);

}  // namespace atalaya::core
