// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/pprof/stacks.h"

#include <algorithm>
#include <vector>

#include "core/base/text/json_writer.h"

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

void write(core::JsonWriter &json, std::string_view name, const Node &node) {
  json.object().key("n").text(name).key("c").object().key("RUNNABLE").number(node.value).end_object().key("a").list();
  for (const auto &[frame, child] : node.children) write(json, frame, child);
  json.end_list().end_object();
}

}  // namespace

std::string sums_json(const StackSums &sums) {
  core::JsonWriter json;
  json.object();
  for (const auto &[stack, value] : sums) json.key(stack).number(value);
  return json.end_object().take();
}

std::string tree_json(const StackSums &sums) {
  Node root;
  for (const auto &[stack, value] : sums) add(root, stack, value);
  core::JsonWriter json;
  write(json.object().key("profile"), "root", root);
  return json.end_object().take();
}

}  // namespace atalaya::serve
