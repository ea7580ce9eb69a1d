// SPDX-License-Identifier: Apache-2.0
// The charts of a report: use over time.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/experiments/experiments.h"

namespace atalaya::report_command {

struct PictureOptions {
  const std::vector<store::TagFilter> &tags;
  std::vector<std::string> keys;                      // of tags: the entity of a line
  size_t lines = 0;                                   // maximum per chart
  const std::vector<query::Experiment> &experiments;  // bands behind the lines
  const std::string &experiment;                      // the selected one
};

// Adds an SVG chart for each metric that the pattern matches, with the series of the largest sums, as in the tables; a large
// average may be a short peak.
void add_pictures(const std::string &pattern, const PictureOptions &options, query::Reading &reading,
                  std::vector<std::string> &pictures);

}  // namespace atalaya::report_command
