// SPDX-License-Identifier: Apache-2.0
// The colours of nodes and edges.
#pragma once

#include <string>
#include <string_view>

namespace atalaya::graph {

// A colour that depends on the text only, so that all drawings agree. "#4e79a7"
std::string colour_of(std::string_view text);
// The colour of a pair, in either order.
std::string colour_of(std::string_view a, std::string_view b);

}  // namespace atalaya::graph
