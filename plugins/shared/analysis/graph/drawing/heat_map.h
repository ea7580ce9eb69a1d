// SPDX-License-Identifier: Apache-2.0
// Draws the matrix as text and as an image.
#pragma once

#include <string>

#include "plugins/shared/analysis/graph/drawing/matrix.h"

namespace atalaya::graph {

std::string as_text(const Matrix &matrix);
std::string as_svg(const Matrix &matrix, const std::string &title);

}  // namespace atalaya::graph
