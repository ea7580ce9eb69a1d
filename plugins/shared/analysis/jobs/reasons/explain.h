// SPDX-License-Identifier: Apache-2.0
// The reasons of findings as text, with the evidence.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/jobs/findings/findings.h"

namespace atalaya::jobs {

// Fills in the reasons, and adds warnings to `notes`. A finding whose explanation would exceed the budget gets none.
void explain(std::vector<Finding> &findings, const JobData &data, const std::vector<Group> &groups, store::Store &store,
             query::Budget &budget, std::vector<std::string> &notes);
// Returns the resource with the largest sum of leading coefficients.
Resource leading_resource(const Correlated &metrics);

}  // namespace atalaya::jobs
