// SPDX-License-Identifier: Apache-2.0
// The data of the page, /api/page/...: JSON in the page's own form, which may change with the page, with the numbers of the query
// engine. Times are milliseconds since 1970; unknown values are null. All paths accept the range and the selection of series.
#pragma once

#include "plugins/commands/serve/page/page_request.h"

namespace atalaya::serve {

// Answers the request of the call; 404 for an unknown path. Throws the exceptions of the query engine.
Answer page_data(PageCall &call);

// Each function serves the path of its name and returns JSON.
std::string page_info(PageCall &call);
std::string page_metrics(PageCall &call);
std::string page_tags(PageCall &call);
std::string page_series(PageCall &call);
std::string page_processes(PageCall &call);
std::string page_process(PageCall &call);
std::string page_explain(PageCall &call);
std::string page_flamegraph(PageCall &call);
std::string page_functions(PageCall &call);
std::string page_graph(PageCall &call);
std::string page_matrix(PageCall &call);
std::string page_jvms(PageCall &call);
std::string page_jobs(PageCall &call);
std::string page_job(PageCall &call);
std::string page_task(PageCall &call);
std::string page_health(PageCall &call);
std::string page_doctor(PageCall &call);
std::string page_experiments(PageCall &call);
std::string page_spans(PageCall &call);

}  // namespace atalaya::serve
