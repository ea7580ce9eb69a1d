// SPDX-License-Identifier: Apache-2.0
// Writes the output of a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/query/types.h"

namespace atalaya::command_line {

// Writes to the file; "" and "-" are standard output, whose errors the host reports. Throws Failure.
void write_output(const std::string &file, std::string_view bytes);
// Returns the suffix of the file name after its last dot, in lower case; "" if there is none.
std::string suffix_of(const std::string &file);

// Formats a range in local time: "2026-11-21 10:00:00 to 2026-11-21 11:00:00 UTC+01:00"; a range below 2 s has fractions of
// seconds.
std::string span_text(const query::Range &range);
// Prints "no points from .. to .." to standard error.
void report_no_points(const char *what, const query::Range &range);
// Prints "the averages are of 39 % of the time .." to standard error if a part of the range was not collected. The newest windows
// are not complete yet and are ignored.
void report_coverage(const std::vector<query::Answer> &answers, const query::Range &range);
// Returns the text of report_coverage; "" if the complete range was collected.
std::string coverage_text(double coverage, int64_t window_ns, const query::Range &range);
// Throws Wrong for a key of --group-by that no series has, such as a misspelt one.
void check_keys(const std::vector<std::string> &group_by, const std::vector<query::Answer> &answers);

}  // namespace atalaya::command_line
