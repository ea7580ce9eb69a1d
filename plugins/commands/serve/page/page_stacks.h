// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugins/commands/serve/page/page_request.h"
#include "plugins/shared/analysis/flamegraph/stored.h"

namespace atalaya::serve {

// Parses the parameters profile= (cpu, offcpu, wall), by= (process, name, host) and the filters. Throws query::Wrong.
flamegraph::Wanted read_stacks_wanted(const Request &request);

}  // namespace atalaya::serve
