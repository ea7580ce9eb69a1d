// SPDX-License-Identifier: Apache-2.0
// The output of a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/store/query/types.h"

namespace atalaya::command_line {

// To the file; "" and "-" are standard output, whose errors the host reports. Throws Failure.
void write_output(const std::string &file, std::string_view bytes);
// The part after the last dot of its name, in lower case; "" if there is none.
std::string suffix_of(const std::string &file);

// "2026-11-21 10:00:00 to 2026-11-21 11:00:00 UTC+01:00": local, to the second, but for a time that is hardly longer.
std::string span_text(const query::Range &range);
// "no points from .. to ..", on standard error.
void report_no_points(const char *what, const query::Range &range);
// "the averages are of 39 % of the time ..", on standard error, if a part of the range was not collected; the newest windows, which
// are not complete yet, do not count.
void report_coverage(const std::vector<query::Answer> &answers, const query::Range &range);
// The same sentence; "" if all of it was collected.
std::string coverage_text(double coverage, int64_t window_ns, const query::Range &range);
// Throws Wrong for a key of --group-by that no series has, such as a misspelt one.
void check_keys(const std::vector<std::string> &group_by, const std::vector<query::Answer> &answers);

}  // namespace atalaya::command_line
