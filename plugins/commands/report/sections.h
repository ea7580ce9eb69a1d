// SPDX-License-Identifier: Apache-2.0
// The sections of a page about an experiment: stacks, traffic and findings.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/command_line/options.h"

namespace atalaya::report_command {

// `html` is HTML in which all names are escaped.
struct Section {
  std::string title, html;
};

// Adds the sections for which the store has data. A section that exceeds the limits of a query has the reason as its text.
void add_sections(std::vector<Section> &sections, const std::vector<store::TagFilter> &tags, command_line::Reading &reading);

}  // namespace atalaya::report_command
