// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "plugins/shared/analysis/explain/explanation.h"

namespace atalaya::explain {

// Sets the baseline of the request, whose window is already set: "before", "yesterday", "FROM..TO", an experiment, "host=NAME",
// "hosts". Throws query::Wrong.
void set_baseline(Request &request, const std::string &against, store::Store &store, int64_t now_ns);

}  // namespace atalaya::explain
