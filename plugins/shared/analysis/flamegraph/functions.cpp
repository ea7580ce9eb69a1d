// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/functions.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <unordered_map>

#include "core/base/text/safe_text.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/code/jvm/type_name.h"

namespace atalaya::flamegraph {
namespace {

constexpr size_t kColumns = 80;

std::string decimals(double value, int count, bool with_sign = false) {
  char text[64];
  std::snprintf(text, sizeof(text), with_sign ? "%+.*f" : "%.*f", count, value);
  return text;
}

void add(Values &sum, const Values &values) {
  for (size_t side = 0; side < sum.size(); ++side) sum[side] += values[side];
}

class Table {
 public:
  Table(const Tree &tree, const Style &style) : all_(tree.root()), style_(style) {
    const std::string self = style.unit == Unit::samples ? "self" : "self s";
    if (style.compared)
      rows_.push_back({self, "self %", "before %", "change", "total %", "function"});
    else
      rows_.push_back({self, "self %", style.unit == Unit::samples ? "total" : "total s", "total %", "function"});
  }

  void add(const Function &one) {
    if (style_.compared)
      rows_.push_back({amount(one.self[0]), share(one.self, 0), share(one.self, 1),
                       decimals(percent(one.self, 0) - percent(one.self, 1), 2, true), share(one.total, 0), one.name});
    else
      rows_.push_back({amount(one.self[0]), share(one.self, 0), amount(one.total[0]), share(one.total, 0), one.name});
  }

  // The row of the rest has only self time, because the totals of functions overlap and cannot be added.
  void add_rest(const std::string &label, const Values &self) {
    if (self[0] == 0 && self[1] == 0) return;
    command_line::Row row(rows_.front().size());
    row[0] = amount(self[0]);
    row[1] = share(self, 0);
    row.back() = label;
    rows_.push_back(std::move(row));
  }

  std::string text() && {
    std::vector<command_line::Row> numbers = rows_;
    for (command_line::Row &row : numbers) row.back().clear();
    const std::string aligned = command_line::as_columns(numbers);
    size_t width = 0;
    for (size_t begin = 0, end = 0; (end = aligned.find('\n', begin)) != std::string::npos; begin = end + 1)
      width = std::max(width, core::display_width(aligned.substr(begin, end - begin)));
    for (command_line::Row &row : rows_) row.back() = fitting(row.back(), kColumns - std::min(width + 2, kColumns - 1));
    return command_line::as_columns(rows_);
  }

 private:
  static std::string fitting(const std::string &name, size_t room) {
    const std::string shown = core::visible(name);
    if (core::display_width(shown) <= room) return shown;
    return core::cut_to_width(std::string(jvm::class_and_method(shown)), room);
  }

  double percent(const Values &values, size_t side) const {
    const double all = all_.total[side];
    return all > 0 ? 100 * values[side] / all : 0;
  }
  std::string share(const Values &values, size_t side) const { return decimals(percent(values, side), 2); }
  std::string amount(double value) const {
    return style_.unit == Unit::samples ? command_line::rounded_text(value) : decimals(value / 1e9, 3);
  }

  const Node &all_;
  const Style &style_;
  std::vector<command_line::Row> rows_;
};

}  // namespace

bool is_recursive(const Tree &tree, uint32_t node) {
  const std::string_view name = tree.name(node);
  for (uint32_t up = tree.node(node).parent; up != 0; up = tree.node(up).parent)
    if (tree.name(up) == name) return true;
  return false;
}

std::vector<Function> functions_of(const Tree &tree, uint32_t group_depth) {
  std::unordered_map<std::string_view, Function> functions;
  for (uint32_t i = 1; i < tree.size(); ++i) {
    const Node &node = tree.node(i);
    if (node.depth <= group_depth || (node.shown() == 0 && node.before() == 0)) continue;
    Function &function = functions[tree.name(i)];
    add(function.self, node.self);
    if (!is_recursive(tree, i)) add(function.total, node.total);
  }
  std::vector<Function> sorted;
  for (auto &[name, function] : functions) {
    function.name = name;
    sorted.push_back(std::move(function));
  }
  std::sort(sorted.begin(), sorted.end(), [](const Function &a, const Function &b) {
    if (a.self[0] != b.self[0]) return a.self[0] > b.self[0];
    return a.total[0] != b.total[0] ? a.total[0] > b.total[0] : a.name < b.name;
  });
  return sorted;
}

std::string function_table(const Tree &tree, uint32_t group_depth, const Style &style, size_t top) {
  const std::vector<Function> functions = functions_of(tree, group_depth);
  Table table(tree, style);
  for (size_t i = 0; i < std::min(top, functions.size()); ++i) table.add(functions[i]);
  Values rest{};
  for (size_t i = top; i < functions.size(); ++i) add(rest, functions[i].self);
  Values groups{};
  for (uint32_t i = 0; i < tree.size(); ++i)
    if (tree.node(i).depth <= group_depth) add(groups, tree.node(i).self);
  if (functions.size() > top) table.add_rest("(" + std::to_string(functions.size() - top) + " more functions: --top)", rest);
  table.add_rest("(stacks without functions)", groups);
  return std::move(table).text();
}

}  // namespace atalaya::flamegraph
