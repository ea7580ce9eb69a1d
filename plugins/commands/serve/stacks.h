// SPDX-License-Identifier: Apache-2.0
// Stacks as the reference design's service gives them. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace atalaya::serve {

// Folded stacks ("a;b;c") and how often each was seen.
using StackSums = std::map<std::string, double, std::less<>>;

// {"a;b;c": sum, ...}
std::string sums_json(const StackSums &sums);
// {"profile":{"n":name,"c":{"RUNNABLE":v},"a":[children]}}: a node's value is that of all stacks that pass it.
std::string tree_json(const StackSums &sums);

}  // namespace atalaya::serve
