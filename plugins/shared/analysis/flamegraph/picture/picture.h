// SPDX-License-Identifier: Apache-2.0
// Draws a flame graph as SVG. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plugins/shared/analysis/flamegraph/class.h"
#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

enum class Unit : uint8_t { samples, nanoseconds };

struct Style {
  std::string title, subtitle;
  int width = 1200;
  bool icicle = false;    // the root at the top
  bool compared = false;  // colours show changes instead of classes
  Unit unit = Unit::samples;
  bool self_contained = true;  // include the script and the style sheet; false: the page that shows the picture has them
  size_t frames = 30'000;      // maximum drawn frames, the widest ones
};

std::string svg_of(const Tree &tree, const Classes &classes, const Style &style);

// Formats a value: "1,234 samples", "1.234 s".
std::string value_text(double value, Unit unit);

}  // namespace atalaya::flamegraph
