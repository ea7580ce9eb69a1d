// SPDX-License-Identifier: Apache-2.0
// Answers as texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/text/json_writer.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::command_line {

// "proc.cpu.user{host=h,pid=1}"; without the braces when there are no tags.
std::string label_of(const query::Answer &answer);

// "host=h,pid=1": visible characters.
std::string tags_text(const query::Tags &tags);
// The tags that all answers have, with one value.
query::Tags common_tags(const std::vector<query::Answer> &answers);

// [{"metric":..,"kind":..,"unit":..,"summary":..,"tags":{..},"aggregateTags":[..],"dps":[[milliseconds,value],..]}], kind, unit
// (UCUM) and summary if they are known. An unknown value and one that is not finite are null. Where a part of the range was not
// collected: ,"coverage":0.39 and the points that rest on a part of their interval, as "partly":[[milliseconds,0.75],..].
std::string as_json(const std::vector<query::Answer> &answers);
// A line per point: time, metric, a column for each tag, value, unit (UCUM), and the collected part of the interval if there is a
// partly collected one. RFC 4180.
std::string as_csv(const std::vector<query::Answer> &answers);
// "coverage":.. if it is below 1, "partly":[..] if there are points that rest on a part of their interval.
void write_coverage(core::JsonWriter &json, const query::Answer &answer);
// For people, in columns; the unit follows the metric.
std::string as_table(const std::vector<query::Answer> &answers);
// "kind":..,"unit":..,"summary":.. if they are known.
void write_info(core::JsonWriter &json, const store::MetricInfo *info);

// Rows in columns of the width they need; the first row is the header, columns of numbers are aligned to the right.
using Row = std::vector<std::string>;
std::string as_columns(const std::vector<Row> &rows);
std::string as_csv_rows(const std::vector<Row> &rows);
// Text of an XML document, with escaped quotes and control characters.
std::string xml_text(std::string_view text);
// The opening tag of a picture, its rules for readers who prefer dark, and its background. Texts with the class "own" and shapes
// without the classes paper, grid, zero and reference keep their colours.
std::string svg_head(int width, int height);
// A point's value: the shortest decimal that is the same number, or the exact count. The caller handles NaN.
void append_value(std::string &out, const query::Answer &answer, const query::Point &point);
// 10 digits, and all digits of a whole number below 1e17: no digits from rounding errors.
std::string rounded_text(double value);

}  // namespace atalaya::command_line
