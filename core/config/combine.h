// SPDX-License-Identifier: Apache-2.0
// Checks of several pipeline files that run together.
#pragma once

#include <string>
#include <vector>

#include "core/config/check/validate.h"

namespace atalaya::core {

// The first difference between two pipelines with the same name, apart from sinks and lengths of windows: "every is 5s there and
// missing here"; "" if they are equal.
std::string difference(const PipelineDescription &there, const PipelineDescription &here);

// The place `where` as seen from `here`: "line 12" in the same file, "pipelines/host.lua:12" in another one.
std::string place_text(const Location &where, const Location &here);

// Warns of values that would be stored twice, because pipelines of different files read the same source into the same sink.
// `files` has the file index of each pipeline.
void warn_of_repeated_sources(const std::vector<size_t> &files, Validation &validation);

}  // namespace atalaya::core
