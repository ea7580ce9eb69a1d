// SPDX-License-Identifier: Apache-2.0
// Parses the common parameters of requests of the web page. Pure functions, except PageCall::range.
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

// The parameters host=, process=, pid= and tag=KEY=VALUE. Throws query::Wrong.
std::vector<store::TagFilter> page_filters(const Request &request);
// An integer parameter from `minimum` to `maximum`; default: `default_value`. Throws query::Wrong.
int64_t page_count(const Request &request, const char *name, int64_t default_value, int64_t minimum, int64_t maximum);
// A parameter whose value is one of `choices`; default: the first one. Throws query::Wrong.
std::string page_choice(const Request &request, const char *name, const std::vector<std::string> &choices);
// The parameters from= and to=; default: the last hour. Throws query::Wrong.
query::Range page_times(const Request &request, int64_t now_ns);

// A request with the store and the limits of its queries.
struct PageCall {
  const Request &request;
  store::Store &store;
  query::Budget budget;
  int64_t now_ns;
  const std::string &status_socket;  // path of the agent's status socket; "": the default path
  // The range of the request: page_times, or the times of experiment= and workload=. Throws query::Wrong.
  query::Range range() const;
};

}  // namespace atalaya::serve
