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

// The declarations of a file, checked against the plugins' schemas and the rules of pipelines.
struct Validation {
  FileDescription description;  // sound only if there is no error
  std::vector<Report> errors, warnings;
  std::vector<int> functions;  // references of the inline functions, by number
};

Validation validate(Evaluation &evaluation, Registry &registry);

// "file:line: text", the line left out when it is unknown.
std::string line_of(const Report &report);

// The kinds of component in pipelines.
constexpr std::array<uint32_t, 4> kPipelineKinds = {ATALAYA_SOURCE, ATALAYA_TRANSLATOR, ATALAYA_FILTER, ATALAYA_SINK};
// "source", "translate", "filter", "sink": the word after `a.`
std::string_view constructor_word(uint32_t kind);

}  // namespace atalaya::core
