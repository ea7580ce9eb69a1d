// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/pprof/stacks.h"

#include <algorithm>
#include <vector>

#include "core/base/text/json.h"

namespace atalaya::serve {
namespace {

// Maximum depth, because the tree is traversed recursively; deeper frames are merged into the last one.
constexpr size_t kMaxDepth = 1000;

struct Node {
  double value = 0;
  std::map<std::string_view, Node> children;
};

void add(Node &root, std::string_view stack, double value) {
  Node *node = &root;
  node->value += value;
  for (size_t depth = 0; depth < kMaxDepth; ++depth) {
    const std::string_view frame = stack.substr(0, stack.find(';'));
    node = &node->children[frame];
    node->value += value;
    if (frame.size() == stack.size()) return;
    stack.remove_prefix(frame.size() + 1);
  }
}

void append(std::string &out, std::string_view name, const Node &node) {
  core::append_json_string(out += "{\"n\":", name);
  core::append_number(out += ",\"c\":{\"RUNNABLE\":", node.value);
  out += "},\"a\":[";
  for (const auto &[frame, child] : node.children) append(out.back() == '[' ? out : out += ',', frame, child);
  out += "]}";
}

}  // namespace

std::string sums_json(const StackSums &sums) {
  std::string out = "{";
  for (const auto &[stack, value] : sums) {
    core::append_json_string(out.size() > 1 ? out += ',' : out, stack);
    core::append_number(out += ':', value);
  }
  return out + "}";
}

std::string tree_json(const StackSums &sums) {
  Node root;
  for (const auto &[stack, value] : sums) add(root, stack, value);
  std::string out = "{\"profile\":";
  append(out, "root", root);
  return out + "}";
}

}  // namespace atalaya::serve
