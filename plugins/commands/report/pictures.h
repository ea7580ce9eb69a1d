// SPDX-License-Identifier: Apache-2.0
// The charts of a report: usage over time.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/experiments/experiments.h"

namespace atalaya::report_command {

struct PictureOptions {
  const std::vector<store::TagFilter> &tags;
  std::vector<std::string> keys;                            // keys of tags; a line has the series with equal values of them
  size_t lines = 0;                                         // maximum lines per chart
  const std::vector<experiments::Experiment> &experiments;  // drawn as bands behind the lines
  const std::string &experiment;                            // the selected one
};

// Adds an SVG chart for each metric that the pattern matches. Its lines are the series with the largest sums (as in the tables),
// not those with the largest averages, which may be short peaks.
void add_pictures(const std::string &pattern, const PictureOptions &options, command_line::Reading &reading,
                  std::vector<std::string> &pictures);

}  // namespace atalaya::report_command
