// SPDX-License-Identifier: Apache-2.0
// The colours of nodes and edges.
#pragma once

#include <string>
#include <string_view>

namespace atalaya::graph {

// Returns a colour such as "#4e79a7" that depends on the text only, so that it is equal in all drawings.
std::string colour_of(std::string_view text);
// Returns the colour of a pair, independent of the order.
std::string colour_of(std::string_view a, std::string_view b);

}  // namespace atalaya::graph
