// SPDX-License-Identifier: Apache-2.0
// Converts names and texts to the syntax of Prometheus.
#pragma once

#include <string>
#include <string_view>

namespace atalaya::prometheus {

// Converts a name to [a-zA-Z_][a-zA-Z0-9_]*: every other byte becomes '_', and '_' is put before a leading digit. The character
// ':', which metrics may have, is reserved for recording rules.
std::string legal_metric(std::string_view name);
// Converts the name of a label in the same way. Two '_' at its start, which Prometheus reserves, become one.
std::string legal_label(std::string_view name);

// Appends a label value or the help of OpenMetrics: \ as \\, line feeds as \n, " as \"; invalid UTF-8 becomes U+FFFD.
void append_escaped(std::string &out, std::string_view text);
// Appends the help of the text format: as append_escaped, but " is not escaped.
void append_help(std::string &out, std::string_view text);
// Appends a text for binary formats, without escapes; invalid UTF-8 becomes U+FFFD.
void append_utf8(std::string &out, std::string_view text);

}  // namespace atalaya::prometheus
