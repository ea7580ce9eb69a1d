// SPDX-License-Identifier: Apache-2.0
// Names and texts as Prometheus takes them.
#pragma once

#include <string>
#include <string_view>

namespace atalaya::prometheus {

// [a-zA-Z_][a-zA-Z0-9_]*: every other byte becomes '_', and a name that begins with a digit gets one in front. The ':' that metrics
// may have is left to recording rules.
std::string legal_metric(std::string_view name);
// The same for a label; two '_' at the beginning are Prometheus's own and become one.
std::string legal_label(std::string_view name);

// With \ as \\, line feeds as \n and " as \"; bytes that are no UTF-8 become U+FFFD. As label values and as OpenMetrics' help.
void append_escaped(std::string &out, std::string_view text);
// Help of the text format: the same, and " stays.
void append_help(std::string &out, std::string_view text);
// Without escapes, for binary forms; bytes that are no UTF-8 become U+FFFD.
void append_utf8(std::string &out, std::string_view text);

}  // namespace atalaya::prometheus
