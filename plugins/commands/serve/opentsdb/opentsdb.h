// SPDX-License-Identifier: Apache-2.0
// Translates OpenTSDB's query language, and formats answers for it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/commands/serve/http/request.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::serve {

struct OpenTsdbQuestion {
  std::vector<query::Query> queries;
  bool milliseconds = false;  // else seconds
  bool arrays = false;        // dps as a list of pairs, not as an object
};

// GET /api/query?start=..&m=.. and POST with JSON. Throws query::Wrong.
OpenTsdbQuestion read_opentsdb(const Request &request, int64_t now_ns);
// "sum:10s-avg:rate{counter}:metric{host=a|b}{process=wildcard(x*)}". Without a range. Throws query::Wrong.
query::Query read_m(std::string_view text);
// "metric{host=a}" and "metric" of a lookup. Throws query::Wrong.
query::Query read_lookup(std::string_view text);

std::string opentsdb_json(const std::vector<query::Answer> &answers, query::Fill fill, const OpenTsdbQuestion &question);

}  // namespace atalaya::serve
