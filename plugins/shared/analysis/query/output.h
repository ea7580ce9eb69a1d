// SPDX-License-Identifier: Apache-2.0
// Where what a command made goes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/analysis/query/types.h"

namespace atalaya::query {

// Into the file; "" and "-" are standard output, of which the host says whether all of it arrived. Throws Failure.
void write_output(const std::string &file, std::string_view bytes);
// What follows the last dot of its name, in small letters; "" when there is none.
std::string suffix_of(const std::string &file);

// "2026-11-21T10:00:00Z to 2026-11-21T11:00:00Z": to the second, but for a time that is hardly longer.
std::string span_text(const Range &range);
// "no points from .. to ..", on standard error.
void say_nothing(const char *what, const Range &range);
// Keys by which was grouped, but which no series has: a misspelt one answers as if it were not there. "" when all are known.
std::string unknown_keys(const std::vector<std::string> &group_by, const std::vector<Answer> &answers);

}  // namespace atalaya::query
