// SPDX-License-Identifier: Apache-2.0
// Parses OpenTSDB's query language and formats its answers. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/commands/serve/http/request.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::serve {

struct OpenTsdbQuestion {
  std::vector<query::Query> queries;
  bool milliseconds = false;  // unit of timestamps in the answer; false: seconds
  bool arrays = false;        // true: `dps` is a list of pairs; false: an object
};

// Parses GET /api/query?start=..&m=.. and POST with JSON. Throws query::Wrong.
OpenTsdbQuestion read_opentsdb(const Request &request, int64_t now_ns);
// Parses a parameter m: "sum:10s-avg:rate{counter}:metric{host=a|b}{process=wildcard(x*)}". The result has no range. Throws
// query::Wrong.
query::Query read_m(std::string_view text);
// Parses the query of a lookup: "metric{host=a}" or "metric". Throws query::Wrong.
query::Query read_lookup(std::string_view text);

std::string opentsdb_json(const std::vector<query::Answer> &answers, query::Fill fill, const OpenTsdbQuestion &question);

}  // namespace atalaya::serve
