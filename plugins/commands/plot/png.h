// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace atalaya::plot {

// Renders an SVG as PNG with librsvg, which is loaded at run time: on hosts without it only PNG is unavailable. Throws Failure.
std::string png_of(const std::string &svg, int width, int height);

}  // namespace atalaya::plot
