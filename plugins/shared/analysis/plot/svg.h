// SPDX-License-Identifier: Apache-2.0
// A line plot as SVG. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/shared/analysis/query/types.h"

namespace atalaya::plot {

struct Line {
  std::string label, unit;
  std::vector<query::Point> points;  // gaps at points that are not a number, and after longer distances than usual
  bool reference = false;            // dashed: the reference of a comparison
};
struct Band {
  int64_t from_ns = 0, to_ns = 0;
  std::string label;
};
struct Plot {
  std::string title, subtitle;
  int64_t from_ns = 0, to_ns = 0;
  int width = 1000, height = 400;  // of each panel's chart, without the legend
  std::vector<Line> lines;
  std::vector<Band> bands;
};

struct Picture {
  std::string svg;
  int width = 0, height = 0;
};

// Lines of one unit share an axis, two units share a panel, further units get panels below. Times are local.
Picture svg_of(const Plot &plot);

}  // namespace atalaya::plot
