// SPDX-License-Identifier: Apache-2.0
// The colours of drawings.
#pragma once

#include <string>
#include <string_view>

namespace atalaya::graph {

// A colour that depends on the text alone: the same in every drawing. "#4e79a7"
std::string colour_of(std::string_view text);
// Of a pair, whichever is named first.
std::string colour_of(std::string_view a, std::string_view b);

}  // namespace atalaya::graph
