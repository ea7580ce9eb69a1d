// SPDX-License-Identifier: Apache-2.0
// Query answers as lines of a chart, and experiments as bands.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/experiments/experiments.h"
#include "plugins/shared/analysis/plot/svg.h"

namespace atalaya::plot {

// An interval with about as many points as the chart shows, if the query sets none.
void set_interval(command_line::Question &question, const query::Range &range);
// The unit of an answer's values, for people; "" if it is unknown.
std::string unit_of(const query::Answer &answer);
// A line per answer: their common tags are the picture's subtitle.
void add_lines(Plot &plot, std::vector<query::Answer> answers, const command_line::Question &question);
// A line per metric with the sum of these answers, which have no line of their own: a stack with it shows the whole.
void add_others(Plot &plot, std::vector<query::Answer> rest, query::Budget &budget);
// Experiments within the chart's range; with a name, the workloads of that experiment.
void add_bands(Plot &plot, const std::vector<experiments::Experiment> &experiments, const std::string &name, int64_t now_ns);

}  // namespace atalaya::plot
