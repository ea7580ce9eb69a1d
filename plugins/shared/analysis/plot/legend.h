// SPDX-License-Identifier: Apache-2.0
// The legend of a panel, in columns that fit the longest name.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plugins/shared/analysis/plot/svg.h"

namespace atalaya::plot {

class Legend {
 public:
  struct Entry {
    size_t line = 0;  // index of the line in the plot
    std::string unit;
    size_t colour_index = 0;  // index of its colour
  };
  // References come first. Units are shown if there are several.
  Legend(const Plot &plot, std::vector<Entry> entries);

  int height() const;
  void draw(std::string &out, int top) const;

 private:
  size_t rows() const { return (labels_.size() + columns_ - 1) / columns_; }

  const Plot &plot_;
  std::vector<Entry> entries_;
  std::vector<std::string> labels_;  // labels of the first entries, which are shown
  int column_ = 1;
  size_t columns_ = 1;
};

}  // namespace atalaya::plot
