// SPDX-License-Identifier: Apache-2.0
// The parameters that requests of the page share. Pure, but for the range of an experiment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/commands/serve/http/request.h"
#include "plugins/shared/store/query/budget.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::serve {

// host=, process=, pid= and tag=KEY=VALUE. Throws query::Wrong.
std::vector<store::TagFilter> page_filters(const Request &request);
// A whole number between the limits. Throws query::Wrong.
int64_t page_count(const Request &request, const char *name, int64_t otherwise, int64_t least, int64_t most);
// One of the words; the first one if the parameter is missing. Throws query::Wrong.
std::string page_choice(const Request &request, const char *name, const std::vector<std::string> &words);
// from= and to=; default: the last hour. Throws query::Wrong.
query::Range page_times(const Request &request, int64_t now_ns);

// A request with its store and its limits.
struct PageCall {
  const Request &request;
  store::Store &store;
  query::Budget budget;
  int64_t now_ns;
  const std::string &status_socket;  // of the agent; "": the default

  // The times, or those of experiment= and workload=. Throws query::Wrong.
  query::Range range() const;
};

}  // namespace atalaya::serve
