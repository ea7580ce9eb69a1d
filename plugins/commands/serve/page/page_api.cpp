// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/page/page_api.h"

#include <array>
#include <string_view>

namespace atalaya::serve {
namespace {

struct PagePath {
  std::string_view path;
  std::string (*answer)(PageCall &call);
};
constexpr std::array kPagePaths = {
    PagePath{"info", page_info},           PagePath{"metrics", page_metrics},
    PagePath{"tags", page_tags},           PagePath{"series", page_series},
    PagePath{"processes", page_processes}, PagePath{"process", page_process},
    PagePath{"explain", page_explain},     PagePath{"flamegraph", page_flamegraph},
    PagePath{"functions", page_functions}, PagePath{"graph", page_graph},
    PagePath{"matrix", page_matrix},       PagePath{"jvms", page_jvms},
    PagePath{"jobs", page_jobs},           PagePath{"job", page_job},
    PagePath{"task", page_task},           PagePath{"health", page_health},
    PagePath{"doctor", page_doctor},       PagePath{"experiments", page_experiments},
    PagePath{"spans", page_spans},
};

}  // namespace

Answer page_data(PageCall &call) {
  constexpr std::string_view kFolder = "/api/page/";
  const std::string_view path = std::string_view(call.request.path).substr(kFolder.size());
  for (const PagePath &one : kPagePaths)
    if (one.path == path) return {200, one.answer(call)};
  return error_answer(404, "Endpoint not found");
}

}  // namespace atalaya::serve
