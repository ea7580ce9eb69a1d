// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace atalaya::core {

// The known name with the smallest edit distance to a mistyped one (insertions, deletions, replacements, transpositions of
// characters); "" if that distance is large.
std::string nearest(std::string_view name, const std::vector<std::string> &known);

// `; did you mean "proc"?`, or "".
std::string did_you_mean(std::string_view name, const std::vector<std::string> &known);

}  // namespace atalaya::core
