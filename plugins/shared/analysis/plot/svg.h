// SPDX-License-Identifier: Apache-2.0
// Draws a plot as SVG. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/shared/store/query/types.h"

namespace atalaya::plot {

enum class Role : uint8_t {
  member,
  reference,  // dashed: the reference of a comparison
  other,      // grey: the sum of all series without a line
};
struct Line {
  std::string label, unit;
  std::vector<query::Point> points;  // the line has gaps at NaN values, and where points are farther apart than usual
  Role role = Role::member;
  bool from_zero = true;  // the axis of the line includes 0
};
struct Band {
  int64_t from_ns = 0, to_ns = 0;
  std::string label;
};
struct Plot {
  std::string title, subtitle;
  int64_t from_ns = 0, to_ns = 0;
  int width = 1000, height = 400;  // size of each panel's chart, without the legend
  std::vector<Line> lines;
  std::vector<Band> bands;
  bool stacked = false;  // draws the lines as stacked areas
};

struct Picture {
  std::string svg;
  int width = 0, height = 0;
};

// Lines of one unit share an axis, two units share a panel, further units get panels below. Byte units (B, MiB) share an axis,
// whose prefix suits the largest value; so do bit units. Times are local. The picture follows the reader's light or dark mode.
Picture svg_of(const Plot &plot);

}  // namespace atalaya::plot
