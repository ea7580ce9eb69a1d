// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/group_table.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "core/base/text/safe_text.h"

namespace atalaya::flamegraph {
namespace {

struct Line {
  double value = 0;
  std::string names;
};

void add_groups(const Tree &tree, uint32_t node, uint32_t depth, const std::string &names, std::vector<Line> &lines) {
  for (const uint32_t child : tree.children(node)) {
    const std::string all = names.empty() ? std::string(tree.name(child)) : names + "  " + std::string(tree.name(child));
    if (depth > 1)
      add_groups(tree, child, depth - 1, all, lines);
    else
      lines.push_back({tree.node(child).shown(), all});
  }
}

}  // namespace

std::string table_of(const Tree &tree, uint32_t group_depth, Unit unit) {
  std::vector<Line> lines;
  add_groups(tree, 0, group_depth, "", lines);
  std::stable_sort(lines.begin(), lines.end(), [](const Line &a, const Line &b) { return a.value > b.value; });
  std::string text;
  for (const Line &line : lines) {
    if (line.value <= 0) continue;
    std::array<char, 16> share{};
    std::snprintf(share.data(), share.size(), "%5.1f %%", 100 * line.value / tree.root().shown());
    const std::string value = value_text(line.value, unit);
    text.append(value.size() < 14 ? 14 - value.size() : 0, ' ').append(value).append("  ").append(share.data());
    text.append("  ").append(core::visible(line.names)).append("\n");
  }
  return text;
}

}  // namespace atalaya::flamegraph
