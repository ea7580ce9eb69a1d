// SPDX-License-Identifier: Apache-2.0
// Stacks as a prefix tree: a frame's name is kept once, and so is what stacks have in common from their root on. A stack is the
// number of its last frame's node.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/store/sqlite.h"

namespace atalaya::store {

// The writing side. Calls lie in a transaction.
class StackTree {
 public:
  explicit StackTree(Database &database);

  // The number of a stack that arrives now, as valid UTF-8 text.
  int64_t node(std::string_view folded, int64_t now_ns);
  // After a rollback.
  void forget();
  // Looks at a bounded number of nodes and frames, from where it ended before; deletes what was not seen since.
  void expire(int64_t oldest_arrived_ns);

 private:
  struct Known {
    int64_t id = 0, seen_h = 0;
  };
  struct Step {
    int64_t parent = 0, frame = 0;
    bool operator==(const Step &) const = default;
  };
  struct StepHash {
    size_t operator()(const Step &step) const;
  };
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  const Known &frame(std::string_view name, int64_t now_h);
  int64_t child(const Step &step, int64_t now_h);

  Database &database_;
  Statement find_frame_, add_frame_, see_frame_, last_frame_, expire_frames_;
  Statement find_node_, add_node_, see_node_, last_node_, expire_nodes_;
  std::unordered_map<std::string, Known, NameHash, std::equal_to<>> frames_;
  std::unordered_map<Step, Known, StepHash> nodes_;
  int64_t expired_h_ = 0;  // what was last seen before may be gone from the tables
  int64_t at_frame_ = 0, at_node_ = 0;
};

// The reading side: the texts of stacks.
class StackTexts {
 public:
  explicit StackTexts(Database &database);
  // Valid until the next call; empty where a part of the stack is gone.
  std::string_view text(int64_t node);
  // The node of a text; 0 where there is none.
  int64_t find(std::string_view folded);

 private:
  struct Node {
    int64_t parent = 0, frame = 0;
  };
  const Node &node(int64_t id);
  const std::string &frame(int64_t id);

  Statement find_node_, find_frame_, find_name_, find_child_;
  std::unordered_map<int64_t, Node> nodes_;
  std::unordered_map<int64_t, std::string> frames_;
  std::string text_;
  std::vector<int64_t> path_;
};

}  // namespace atalaya::store
