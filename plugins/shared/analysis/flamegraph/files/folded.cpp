// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/files/folded.h"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "core/base/text/json_writer.h"
#include "core/base/text/text.h"

namespace atalaya::flamegraph {
namespace {

// Calls `enter` for each node with a value, parents first, and `leave` after its children.
template <class Enter, class Leave>
void walk(const Tree &tree, const Enter &enter, const Leave &leave) {
  struct Step {
    uint32_t node;
    size_t next;  // index of the next child
  };
  std::vector<Step> path = {{0, 0}};
  enter(0);
  while (!path.empty()) {
    Step &step = path.back();
    const auto children = tree.children(step.node);
    if (step.next == children.size()) {
      leave(step.node);
      path.pop_back();
      continue;
    }
    const uint32_t child = children[step.next++];
    if (tree.node(child).total == Values{}) continue;
    enter(child);
    path.push_back({child, 0});
  }
}

// Formats a number without an exponent, which other tools cannot read.
void append_plain(std::string &out, double value) {
  std::array<char, 512> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  out.append(text.data(), static_cast<size_t>(end.ptr - text.data()));
}

}  // namespace

std::optional<FoldedLine> parse_folded(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  const size_t blank = line.find_last_of(" \t");
  if (blank == std::string_view::npos) return std::nullopt;
  FoldedLine found{line.substr(0, blank)};
  found.value = core::number_from<double>(line.substr(blank + 1)).value_or(-1);
  if (!std::isfinite(found.value) || found.value < 0) return std::nullopt;
  if (found.stack.find_first_not_of("; \t") == std::string_view::npos) return std::nullopt;
  return found;
}

double share_change(const Tree &tree, const Node &node) {
  const Node &all = tree.root();
  return all.shown() > 0 && all.before() > 0 ? node.shown() / all.shown() - node.before() / all.before() : 0;
}

std::string folded_of(const Tree &tree, bool compared) {
  std::string out;
  std::string stack;
  std::vector<size_t> sizes;  // length of the stack before each frame
  const auto enter = [&](uint32_t number) {
    sizes.push_back(stack.size());
    if (number == 0) return;
    if (!stack.empty()) stack += ';';
    stack += tree.name(number);
    const Node &node = tree.node(number);
    if (node.self == Values{}) return;
    out += stack;
    if (compared) append_plain(out += ' ', node.self[1]);
    append_plain(out += ' ', node.self[0]);
    out += '\n';
  };
  walk(tree, enter, [&](uint32_t) {
    stack.resize(sizes.back());
    sizes.pop_back();
  });
  return out;
}

std::string json_of(const Tree &tree, bool compared) {
  core::JsonWriter json;
  const auto enter = [&](uint32_t number) {
    const Node &node = tree.node(number);
    json.object().key("name").text(tree.name(number)).key("value").number(node.shown());
    if (compared) json.key("delta").number(share_change(tree, node) * tree.root().shown());
    json.key("children").list();
  };
  walk(tree, enter, [&](uint32_t) { json.end_list().end_object(); });
  return json.take() + "\n";
}

}  // namespace atalaya::flamegraph
