// SPDX-License-Identifier: Apache-2.0
// Numbers as text.
#pragma once

#include <string>

namespace atalaya::graph {

// Formats an amount: "1.5 MiB".
std::string bytes_text(double bytes);
// Formats a number: "0.25".
std::string short_number(double value, int decimals);

}  // namespace atalaya::graph
