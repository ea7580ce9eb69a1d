// SPDX-License-Identifier: Apache-2.0
// Differences of the range against a baseline, in the form of `explain --format json`.
#include "plugins/commands/serve/page/page_api.h"
#include "plugins/shared/analysis/explain/against.h"
#include "plugins/shared/analysis/explain/explanation.h"

namespace atalaya::serve {

std::string page_explain(PageCall &call) {
  explain::Reader reader{call.store, call.budget};
  explain::Request request;
  request.window = {call.range(), page_filters(call.request)};
  request.by = page_choice(call.request, "by", {"process", "pid", "container", "unit", "user", "cgroup", "host"});
  request.top = static_cast<size_t>(page_count(call.request, "top", 5, 1, 1000));
  const std::string against = call.request.text("against");
  explain::set_baseline(request, against.empty() ? "before" : against, call.store, call.now_ns);
  return as_json(explain::explain(request, reader));
}

}  // namespace atalaya::serve
