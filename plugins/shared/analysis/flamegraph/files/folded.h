// SPDX-License-Identifier: Apache-2.0
// Stacks as text for other tools: "a;b;c 12" per line, root first; and the JSON of d3-flame-graph. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plugins/shared/analysis/flamegraph/tree.h"

namespace atalaya::flamegraph {

struct FoldedLine {
  std::string_view stack;
  double value = 0;  // finite, not below 0
};
// Parses "a;b;c 12"; frames may contain blanks. Nothing if the line does not end with a blank and a number, or has no frame.
std::optional<FoldedLine> parse_folded(std::string_view line);

// Returns one line per stack with a value, sorted by name; with `compared` each line has two numbers: before, now.
std::string folded_of(const Tree &tree, bool compared);
// {"name":"all","value":12,"children":[..]}; with `compared` also "delta", the change of its share times the total value.
std::string json_of(const Tree &tree, bool compared);

// Returns the change of the node's share of the total, from -1 to 1; 0 if one side is empty.
double share_change(const Tree &tree, const Node &node);

}  // namespace atalaya::flamegraph
