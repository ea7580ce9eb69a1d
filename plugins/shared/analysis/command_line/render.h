// SPDX-License-Identifier: Apache-2.0
// Formats query answers as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/text/json_writer.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::command_line {

// Returns "proc.cpu.user{host=h,pid=1}"; without braces if there are no tags.
std::string label_of(const query::Answer &answer);

// Returns "host=h,pid=1", with control characters escaped.
std::string tags_text(const query::Tags &tags);
// Returns the tags that all answers have with the same value.
query::Tags common_tags(const std::vector<query::Answer> &answers);

// [{"metric":..,"kind":..,"unit":..,"summary":..,"tags":{..},"aggregateTags":[..],"dps":[[milliseconds,value],..]}], kind, unit
// (UCUM) and summary if they are known. An unknown value and one that is not finite are null. Where a part of the range was not
// collected: ,"coverage":0.39 and the points that rest on a part of their interval, as "partly":[[milliseconds,0.75],..].
std::string as_json(const std::vector<query::Answer> &answers);
// Returns CSV (RFC 4180) with a line per point: time, metric, a column for each tag, value, unit (UCUM) and, if an interval was
// only partly collected, the collected part.
std::string as_csv(const std::vector<query::Answer> &answers);
// Writes "coverage":.. if it is below 1, and "partly":[..] if there are points that rest on a part of their interval.
void write_coverage(core::JsonWriter &json, const query::Answer &answer);
// Returns a table for people; the unit follows the metric.
std::string as_table(const std::vector<query::Answer> &answers);
// Writes "kind":..,"unit":..,"summary":.. if they are known.
void write_info(core::JsonWriter &json, const store::MetricInfo *info);

// Formats rows as aligned columns. The first row is the header; columns of numbers are aligned to the right.
using Row = std::vector<std::string>;
std::string as_columns(const std::vector<Row> &rows);
std::string as_csv_rows(const std::vector<Row> &rows);
// Escapes a text for an XML document, including quotes and control characters.
std::string xml_text(std::string_view text);
// Returns the opening tag of a picture, its style sheet for dark mode, and its background. Dark mode does not change texts of the
// class "own" and shapes without the classes paper, grid, zero and reference.
std::string svg_head(int width, int height);
// Appends a point's value: the exact count, or the shortest decimal that parses to the same number. The caller handles NaN.
void append_value(std::string &out, const query::Answer &answer, const query::Point &point);
// Formats a value with 10 digits, and an integer below 1e17 with all digits. So no digit comes from a rounding error.
std::string rounded_text(double value);

}  // namespace atalaya::command_line
