// SPDX-License-Identifier: Apache-2.0
// Stacks that begin alike, together: what a flame graph draws. A frame that calls itself is a child of itself, in `a;b;a` as in
// `a;a`. A parent is older than its children, so that its number is less: sums and marks need no recursion, however deep a stack
// is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace atalaya::flamegraph {

// What is drawn, and what it is compared with.
enum class Side : uint8_t { shown, before };
using Values = std::array<double, 2>;

struct Node {
  uint32_t parent = 0, name = 0, depth = 0;  // of the root: 0
  Values self{}, total{};                    // of stacks that end in it; that pass it
  double shown() const { return total[0]; }
  double before() const { return total[1]; }
};

class Tree {
 public:
  // Of stacks beyond it only the first frames are kept: their values stay in the sums.
  struct Limits {
    size_t nodes = 2'000'000, depth = 2048, bytes = size_t{256} << 20;  // bytes: of different names
  };
  Tree() : Tree(Limits()) {}
  explicit Tree(const Limits &limits);

  // The node of the stack's last frame: "a;b;c", root first. Frames without a name are left out.
  uint32_t leaf(std::string_view folded);
  // The same below a node.
  uint32_t leaf(uint32_t node, std::string_view folded);
  void add(uint32_t node, Side side, double value) { nodes_[node].self[static_cast<size_t>(side)] += value; }
  // Stacks that were cut, by the limits.
  size_t cut() const { return cut_; }

  // Forgets the values of stacks in which no frame is wanted. Before finish().
  void keep(const std::function<bool(uint32_t node)> &wanted);
  // Sums up, and orders children by name. Nothing is added afterwards.
  void finish();

  const Node &root() const { return nodes_.front(); }
  const Node &node(uint32_t number) const { return nodes_[number]; }
  std::string_view name(uint32_t number) const { return *names_[nodes_[number].name]; }
  size_t size() const { return nodes_.size(); }
  std::span<const uint32_t> children(uint32_t number) const;

 private:
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  bool child(uint32_t &node, std::string_view name);
  uint32_t interned(std::string_view name);

  Limits limits_;
  std::vector<Node> nodes_;
  std::unordered_map<std::string, uint32_t, NameHash, std::equal_to<>> numbers_;
  std::vector<const std::string *> names_;           // keys of numbers_, which stay where they are
  std::unordered_map<uint64_t, uint32_t> children_;  // (parent, name) -> node
  std::vector<uint32_t> ordered_, begins_;           // children of all nodes; where those of each begin
  size_t bytes_ = 0, cut_ = 0;
};

}  // namespace atalaya::flamegraph
