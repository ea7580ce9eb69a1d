// SPDX-License-Identifier: Apache-2.0
// Serves stored stacks at /debug/pprof/profile, for `go tool pprof URL`.
#pragma once

#include "plugins/commands/serve/page/page_request.h"

namespace atalaya::serve {

// Answers with the stacks of the last seconds= or of from= and to=. Other parameters: profile=, by= and the filters of the page.
// 404 if there are no stacks. Throws the exceptions of the query engine.
Answer pprof_answer(PageCall &call);

}  // namespace atalaya::serve
