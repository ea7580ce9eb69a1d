// SPDX-License-Identifier: Apache-2.0
// The pictures of a report: what was used, over the time.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/query/experiments.h"
#include "plugins/shared/analysis/query/options.h"

namespace atalaya::report_command {

struct PictureOptions {
  const std::vector<store::TagFilter> &tags;
  std::vector<std::string> keys;                      // of tags: what has a line of its own
  size_t lines = 0;                                   // the most of a picture
  const std::vector<query::Experiment> &experiments;  // bands behind the lines
  const std::string &experiment;                      // the one that is asked for
};

// Adds a picture as SVG of each metric that the pattern names, with those that used most in all, as in the tables; a larger average
// may be that of a moment.
void add_pictures(const std::string &pattern, const PictureOptions &options, query::Reading &reading,
                  std::vector<std::string> &pictures);

}  // namespace atalaya::report_command
