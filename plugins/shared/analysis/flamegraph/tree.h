// SPDX-License-Identifier: Apache-2.0
// A prefix tree of stacks: the data of a flame graph. Each occurrence of a recursive function is a node of its own. Invariant:
// parents have smaller indices than their children, so that sums and marks need no recursion.
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

// A tree has two sets of values: the shown ones, and those of the time before, for a comparison.
enum class Side : uint8_t { shown, before };
using Values = std::array<double, 2>;

struct Node {
  uint32_t parent = 0, name = 0, depth = 0;  // all 0 for the root
  Values self{}, total{};                    // self: stacks that end in the node; total: stacks that contain it
  double shown() const { return total[0]; }
  double before() const { return total[1]; }
};

class Tree {
 public:
  // A stack beyond a limit is cut to its first frames; its value counts at the last one.
  struct Limits {
    size_t nodes = 2'000'000, depth = 2048, bytes = size_t{256} << 20;  // bytes: maximum bytes of distinct names
  };
  Tree() : Tree(Limits()) {}
  explicit Tree(const Limits &limits);

  // Adds the stack "a;b;c" (root first) and returns the node of its last frame. Empty frames are ignored.
  uint32_t add_stack(std::string_view folded);
  // Adds the stack below `node`.
  uint32_t add_stack(uint32_t node, std::string_view folded);
  void add(uint32_t node, Side side, double value) { nodes_[node].self[static_cast<size_t>(side)] += value; }
  // Number of stacks that were cut by the limits.
  size_t cut() const { return cut_; }

  // Clears the values of stacks without a wanted frame. Call before finish().
  void keep(const std::function<bool(uint32_t node)> &wanted);
  // Computes sums and sorts children by name. Nothing may be added afterwards.
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
  std::vector<const std::string *> names_;           // keys of numbers_, whose addresses are stable
  std::unordered_map<uint64_t, uint32_t> children_;  // (parent, name) -> node
  std::vector<uint32_t> ordered_, first_child_;      // children of all nodes; index of the first child of each node
  size_t bytes_ = 0, cut_ = 0;
};

}  // namespace atalaya::flamegraph
