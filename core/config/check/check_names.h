// SPDX-License-Identifier: Apache-2.0
// Compares the names of metrics and tags in a pipeline with those that the components before them declare.
#pragma once

#include "core/config/evaluate.h"
#include "core/config/check/validate.h"

namespace atalaya::core {

// Parameters refer to names by their unit, "metric" or "tag"; a parameter "*" with dotted keys refers to metrics. A mistyped name
// is an error if every name is declared before the agent runs. It is a warning after a push source, a function or a translator,
// because these may make names at run time.
void check_names(const Evaluation &evaluation, Validation &validation);

}  // namespace atalaya::core
