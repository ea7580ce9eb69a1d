// SPDX-License-Identifier: Apache-2.0
// SVG elements of a chart (texts, lines) and their styles.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "plugins/shared/analysis/plot/svg.h"

namespace atalaya::plot {

constexpr int kLeft = 72, kRight = 72;  // pixels next to the chart
constexpr int kCharacterWidth = 7;      // pixels: approximate width of a character

// Formats a number of pixels with one decimal.
std::string pixels(double value);
void add_text(std::string &out, double x, double y, const char *anchor, std::string_view text, const char *more = "");
void add_line(std::string &out, double x1, double y1, double x2, double y2, const char *more);

// Return the SVG attributes of a line and of an area; `index` selects the colour.
std::string stroke_of(size_t index, const Line &line);
std::string fill_of(size_t index, const Line &line);

}  // namespace atalaya::plot
