// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/tree.h"

#include <algorithm>
#include <numeric>

namespace atalaya::flamegraph {

Tree::Tree(const Limits &limits) : limits_(limits) {
  nodes_.push_back({.name = interned("all")});
}

uint32_t Tree::interned(std::string_view name) {
  if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
  const auto added = numbers_.emplace(std::string(name), static_cast<uint32_t>(names_.size())).first;
  names_.push_back(&added->first);
  bytes_ += name.size();
  return added->second;
}

// Moves to the child, which is added if necessary; false if a limit is reached.
bool Tree::child(uint32_t &node, std::string_view name) {
  const bool full = nodes_.size() >= limits_.nodes || nodes_[node].depth >= limits_.depth;
  const auto number = numbers_.find(name);
  if (number == numbers_.end() && (full || bytes_ + name.size() > limits_.bytes)) return false;
  const uint64_t known = number == numbers_.end() ? interned(name) : number->second;
  const uint64_t key = uint64_t{node} << 32 | known;
  if (const auto found = children_.find(key); found != children_.end()) {
    node = found->second;
    return true;
  }
  if (full) return false;
  nodes_.push_back({.parent = node, .name = static_cast<uint32_t>(known), .depth = nodes_[node].depth + 1});
  node = static_cast<uint32_t>(nodes_.size() - 1);
  children_.emplace(key, node);
  return true;
}

uint32_t Tree::add_stack(std::string_view folded) {
  return add_stack(0, folded);
}

uint32_t Tree::add_stack(uint32_t node, std::string_view folded) {
  for (;;) {
    const std::string_view frame = folded.substr(0, folded.find(';'));
    if (!frame.empty() && !child(node, frame)) {
      ++cut_;
      return node;
    }
    if (frame.size() == folded.size()) return node;
    folded.remove_prefix(frame.size() + 1);
  }
}

void Tree::keep(const std::function<bool(uint32_t node)> &wanted) {
  std::vector<bool> kept(nodes_.size());
  for (uint32_t i = 1; i < nodes_.size(); ++i) {
    kept[i] = kept[nodes_[i].parent] || wanted(i);
    if (!kept[i]) nodes_[i].self = {};
  }
  nodes_.front().self = {};
}

void Tree::finish() {
  for (Node &node : nodes_) node.total = node.self;
  for (size_t i = nodes_.size(); i-- > 1;)
    for (size_t side = 0; side < 2; ++side) nodes_[nodes_[i].parent].total[side] += nodes_[i].total[side];
  ordered_.resize(nodes_.size() - 1);
  std::iota(ordered_.begin(), ordered_.end(), uint32_t{1});
  std::sort(ordered_.begin(), ordered_.end(), [&](uint32_t left, uint32_t right) {
    const uint32_t parents[] = {nodes_[left].parent, nodes_[right].parent};
    return parents[0] != parents[1] ? parents[0] < parents[1] : name(left) < name(right);
  });
  first_child_.assign(nodes_.size() + 1, 0);
  for (const uint32_t node : ordered_) ++first_child_[nodes_[node].parent + 1];
  std::partial_sum(first_child_.begin(), first_child_.end(), first_child_.begin());
}

std::span<const uint32_t> Tree::children(uint32_t number) const {
  return std::span(ordered_).subspan(first_child_[number], first_child_[number + 1] - first_child_[number]);
}

}  // namespace atalaya::flamegraph
