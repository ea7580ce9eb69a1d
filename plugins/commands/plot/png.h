// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace atalaya::plot {

// The picture's pixels, by librsvg, which is opened here and now: a host without it loses PNG alone. Throws Failure.
std::string png_of(const std::string &svg, int width, int height);

}  // namespace atalaya::plot
