// SPDX-License-Identifier: Apache-2.0
// Why what was found is slow, in words with the evidence.
#pragma once

#include <string>
#include <vector>

#include "plugins/bottleneck/findings.h"

namespace atalaya::bottleneck {

// Fills in why. Where that would cost more than is allowed the finding stays without, and what was too much is returned.
std::string explain(Finding &finding, const Told &told, const std::vector<Group> &groups, store::Store &store,
                    query::Budget &budget);
// Which resource has most of the sum of the leading coefficients.
Resource leading_resource(const Correlated &metrics);

}  // namespace atalaya::bottleneck
