// SPDX-License-Identifier: Apache-2.0
// Several pipeline files in one run.
#pragma once

#include <string>
#include <vector>

#include "core/config/check/validate.h"

namespace atalaya::core {

// The first difference of two pipelines of one name, sinks aside: "every is 5s there and 20s here"; "" if none.
std::string difference(const PipelineDescription &there, const PipelineDescription &here);

// "line 12", or "pipelines/host.lua:12" if that is another file than `here`.
std::string place_text(const Location &where, const Location &here);

// Warnings of values that are stored twice: different files read one source into one sink. `files` are those of the pipelines.
void warn_of_repeated_sources(const std::vector<size_t> &files, Validation &validation);

}  // namespace atalaya::core
