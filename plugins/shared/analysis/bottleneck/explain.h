// SPDX-License-Identifier: Apache-2.0
// Why what was found is slow, in words with the evidence.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/analysis/bottleneck/findings.h"

namespace atalaya::bottleneck {

// Fills in why, and what has to be known about that in `notes`. Where it would cost more than is allowed a finding stays without.
void explain(std::vector<Finding> &findings, const JobData &data, const std::vector<Group> &groups, store::Store &store,
             query::Budget &budget, std::vector<std::string> &notes);
// Which resource has most of the sum of the leading coefficients.
Resource leading_resource(const Correlated &metrics);

}  // namespace atalaya::bottleneck
