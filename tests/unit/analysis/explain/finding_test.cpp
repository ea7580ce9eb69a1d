// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/evidence/finding.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace atalaya::evidence {
namespace {

std::string ranked(std::vector<Finding> findings) {
  rank(findings);
  std::string names;
  for (const Finding &finding : findings) names += finding.summary;
  return names;
}

TEST_CASE("findings are ranked by tier, then by weight; equal ones keep their order") {
  CHECK(ranked({{.summary = "a", .weight = 1}, {.summary = "b", .weight = 2}}) == "ba");
  CHECK(ranked({{.summary = "a", .tier = 1, .weight = 9}, {.summary = "b"}}) == "ba");
  CHECK(ranked({{.summary = "a", .weight = 1}, {.summary = "b", .weight = 1}, {.summary = "c", .weight = 2}}) == "cab");
}

}  // namespace
}  // namespace atalaya::evidence
