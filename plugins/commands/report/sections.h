// SPDX-License-Identifier: Apache-2.0
// The sections of a page about an experiment: stacks, traffic and findings, as far as the store has data.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/command_line/options.h"

namespace atalaya::report_command {

// HTML with all names as texts.
struct Section {
  std::string title, html;
};

// Adds each section that has data. A section that needs too much is replaced by the reason.
void add_sections(std::vector<Section> &sections, const std::vector<store::TagFilter> &tags, query::Reading &reading);

}  // namespace atalaya::report_command
