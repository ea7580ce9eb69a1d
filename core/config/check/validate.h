// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/description.h"
#include "core/config/evaluate.h"
#include "core/plugin/registry.h"

namespace atalaya::core {

// Evaluated pipeline files, checked against the plugins' schemas and the rules of pipelines.
struct Validation {
  FileDescription description;  // valid only without errors
  std::vector<Report> errors, warnings;
  std::vector<int> functions;  // registry references of the inline functions, by function number - 1
};

Validation validate(Evaluation &evaluation, Registry &registry);

// "file:line: text"; "file: text" if the line is unknown.
std::string line_of(const Report &report);

// The kinds of components that pipelines contain.
constexpr std::array<uint32_t, 4> kPipelineKinds = {ATALAYA_SOURCE, ATALAYA_TRANSLATOR, ATALAYA_FILTER, ATALAYA_SINK};
// The name of the constructor table in Lua, after `a.`: "source", "translate", "filter", "sink".
std::string_view constructor_name(uint32_t kind);

}  // namespace atalaya::core
