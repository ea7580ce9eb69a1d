// SPDX-License-Identifier: Apache-2.0
// Stacks as texts that other tools read and write: "a;b;c 12" a line, root first; and the JSON of d3-flame-graph. Pure.
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
// Nothing where a line does not end with a blank and a number, or has no frame. Frames may hold blanks.
std::optional<FoldedLine> parse_folded(std::string_view line);

// By name, one line for each stack that has a value; with `compared` two numbers: before, now.
std::string folded_of(const Tree &tree, bool compared);
// {"name":"all","value":12,"children":[..]}; with `compared` also "delta", the change of its share times what is shown in all.
std::string json_of(const Tree &tree, bool compared);

// How much of what was seen more (or less, below 0) passes the node than before; 0 where one side has nothing.
double change_of_share(const Tree &tree, const Node &node);

}  // namespace atalaya::flamegraph
