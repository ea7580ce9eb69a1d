// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace atalaya::plot {

// As it stands in SVG and HTML, between tags and in quotes: only a text, and one that can be seen.
std::string escaped(std::string_view text);

}  // namespace atalaya::plot
