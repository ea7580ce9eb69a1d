// SPDX-License-Identifier: Apache-2.0
// Pieces of questions, whether a command, OpenTSDB's or Prometheus' language asks. `where` is what the asker calls the piece: what
// is wrong with it begins with that. All throw Wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// A time as parse_time reads it.
int64_t time_of(std::string_view where, std::string_view text, int64_t now_ns);
Aggregator aggregator_of(std::string_view where, std::string_view name);
// "none" too, which is no aggregator.
void set_aggregator(Query &query, std::string_view where, std::string_view name);
void set_downsample(Query &query, std::string_view where, std::string_view text);
// "key=value" to filters; several of one key are one.
std::vector<store::TagFilter> tag_filters(std::string_view where, const std::vector<std::string> &words);

// A pattern that matches only this text.
std::string exactly(std::string_view text);
// Splits at the separator; keeps empty parts.
std::vector<std::string> parts_of(std::string_view text, char between);
// Splits at commas; removes empty parts.
std::vector<std::string> parts_of(const std::vector<std::string> &lists);

}  // namespace atalaya::query
