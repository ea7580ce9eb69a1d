// SPDX-License-Identifier: Apache-2.0
// Stored stacks at the address where programs serve their own profiles: /debug/pprof/profile, for `go tool pprof URL`.
#pragma once

#include "plugins/commands/serve/page/page_request.h"

namespace atalaya::serve {

// seconds= (the last ones), or the times of the page; profile=, by= and the filters of the page. 404 without stacks. Throws as the
// query engine does.
Answer pprof_answer(PageCall &call);

}  // namespace atalaya::serve
