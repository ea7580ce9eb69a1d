// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace atalaya::plot {

// Renders the image with librsvg, opened at run time: a host without it only lacks PNG. Throws Failure.
std::string png_of(const std::string &svg, int width, int height);

}  // namespace atalaya::plot
