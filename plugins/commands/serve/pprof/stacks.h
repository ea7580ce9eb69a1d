// SPDX-License-Identifier: Apache-2.0
// Formats stacks as the service of the reference design does. Pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace atalaya::serve {

// Folded stacks ("a;b;c") and their counts.
using StackSums = std::map<std::string, double, std::less<>>;

// The sums as a JSON object: {"a;b;c": sum, ...}
std::string sums_json(const StackSums &sums);
// The stacks as a tree, {"profile":{"n":name,"c":{"RUNNABLE":v},"a":[children]}}; the value of a node is the sum of all stacks
// through it.
std::string tree_json(const StackSums &sums);

}  // namespace atalaya::serve
