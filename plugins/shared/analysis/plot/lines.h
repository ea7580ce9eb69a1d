// SPDX-License-Identifier: Apache-2.0
// Converts query answers to lines of a chart, and experiments to bands.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/experiments/experiments.h"
#include "plugins/shared/analysis/plot/svg.h"

namespace atalaya::plot {

// If the query has no interval, sets one with about as many points as the chart can show.
void set_interval(command_line::Question &question, const query::Range &range);
// Returns the unit of an answer's values in the notation for people; "" if it is unknown.
std::string unit_of(const query::Answer &answer);
// Adds a line per answer. The tags that all answers have become the subtitle.
void add_lines(Plot &plot, std::vector<query::Answer> answers, const command_line::Question &question);
// Adds a line per metric with the sum of the answers that have no line of their own, so that a stack shows the total.
void add_others(Plot &plot, std::vector<query::Answer> rest, query::Budget &budget);
// Adds the experiments within the chart's range. With a `name`, adds the workloads of that experiment instead.
void add_bands(Plot &plot, const std::vector<experiments::Experiment> &experiments, const std::string &name, int64_t now_ns);

}  // namespace atalaya::plot
