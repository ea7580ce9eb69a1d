// SPDX-License-Identifier: Apache-2.0
// Formats a report as one self-contained HTML file without scripts.
#pragma once

#include <string>
#include <vector>

#include "plugins/commands/report/bill.h"
#include "plugins/commands/report/comparison.h"
#include "plugins/commands/report/parts.h"
#include "plugins/commands/report/sections.h"
#include "plugins/shared/analysis/experiments/experiments.h"

namespace atalaya::report_command {

struct Page {
  std::string title;
  std::string store;  // name of the store
  query::Range range;
  int64_t now_ns = 0;
  std::vector<experiments::Experiment> experiments;  // experiments in the range, with their workloads
  std::vector<std::string> pictures;                 // SVG texts
  Usages usages;
  std::vector<Section> sections;
};

std::string as_page(const Page &page);
// A page with the comparison of two experiments.
std::string as_page(const Comparison &comparison, const std::string &store, int64_t now_ns);
std::string as_page(const Bill &bill, const query::Range &range, const std::string &store, int64_t now_ns);

}  // namespace atalaya::report_command
