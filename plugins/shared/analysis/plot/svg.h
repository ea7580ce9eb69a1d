// SPDX-License-Identifier: Apache-2.0
// A plot as SVG. Pure.
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
  std::vector<query::Point> points;  // gaps at points that are not a number, and after longer distances than usual
  Role role = Role::member;
  bool from_zero = true;  // its axis includes 0
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
  bool stacked = false;  // areas on top of each other, which add up to the whole
};

struct Picture {
  std::string svg;
  int width = 0, height = 0;
};

// Lines of one unit share an axis, two units share a panel, further units get panels below. Bytes and bits have one axis with the
// prefix that suits its largest value. Times are local. Colours suit the reader's preference of light or dark.
Picture svg_of(const Plot &plot);

}  // namespace atalaya::plot
