// SPDX-License-Identifier: Apache-2.0
// Compares the metrics and tags that a pipeline names with those that earlier components of the pipeline declare.
#pragma once

#include "core/config/check/validate.h"
#include "core/config/evaluate.h"

namespace atalaya::core {

// A parameter names a metric or a tag if its unit is "metric" or "tag"; the dotted keys of a parameter "*" are metrics. An
// undeclared name is an error if all names are known before the agent runs. It is a warning after a push source, a function or a
// translator, because these can create names at run time.
void check_names(const Evaluation &evaluation, Validation &validation);

}  // namespace atalaya::core
