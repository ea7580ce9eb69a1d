// SPDX-License-Identifier: Apache-2.0
// Parses parts of queries, for commands and for the languages of OpenTSDB and Prometheus. `where` names the part in the syntax
// of the user; errors start with it. All functions throw Wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// Parses a time as parse_time does.
int64_t time_of(std::string_view where, std::string_view text, int64_t now_ns);
Aggregator aggregator_of(std::string_view where, std::string_view name);
// Sets the aggregator with this name; "none" removes it.
void set_aggregator(Query &query, std::string_view where, std::string_view name);
void set_downsample(Query &query, std::string_view where, std::string_view text);
// Converts "key=value" to filters; merges several of one key.
std::vector<store::TagFilter> tag_filters(std::string_view where, const std::vector<std::string> &words);

// A pattern that matches only this text.
std::string exact_pattern(std::string_view text);
// Splits at the separator; keeps empty parts.
std::vector<std::string> parts_of(std::string_view text, char between);
// Splits at commas; removes empty parts.
std::vector<std::string> parts_of(const std::vector<std::string> &lists);

}  // namespace atalaya::query
