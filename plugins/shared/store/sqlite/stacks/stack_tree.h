// SPDX-License-Identifier: Apache-2.0
// Stacks as a prefix tree: a frame's name is stored once, and so is the common part of stacks from their root on. A stack is the
// number of its last frame's node. A parent is older than its children, so that its number is less.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

// A stack with more frames, or a longer text, keeps its leaf end below one frame of this name.
constexpr std::string_view kTruncated = "[truncated]";
constexpr size_t kMaxFrames = 2048;
constexpr size_t kMaxStackLength = 256 << 10;  // bytes, as it arrives

// The writing side. Calls lie in a transaction.
class StackTree {
 public:
  explicit StackTree(Database &database);

  struct Stack {
    int64_t node = 0;
    bool is_whole = true;
  };
  // A stack that arrives now. Bytes that are not UTF-8 become U+FFFD.
  Stack put(std::string_view folded, int64_t now_ns);
  // After a rollback.
  void forget();
  // Looks at a bounded number of nodes and frames, from where it ended before; deletes those not seen since.
  int64_t expire(int64_t oldest_arrived_ns);

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
  // Frames or nodes: rows with a key that is there once, and the hour until which they may have been seen.
  struct Table {
    Table(Database &database, const std::string &name, const std::string &key, const std::string &values);
    Statement find, add, see, last, expire;
    int64_t expired_to = 0;
  };

  int64_t frame(std::string_view name, int64_t now_h);
  int64_t child(const Step &step, int64_t now_h);
  template <class... Key>
  Known find_or_add(Table &table, int64_t now_h, const Key &...key);

  Database &database_;
  Table frame_table_, node_table_;
  std::unordered_map<std::string, Known, NameHash, std::equal_to<>> frames_;
  std::unordered_map<Step, Known, StepHash> nodes_;
  size_t bytes_ = 0;       // of both, about
  int64_t expired_h_ = 0;  // entries last seen before may be deleted
  std::string scratch_;
};

// The reading side: the texts of stacks.
class StackTexts {
 public:
  explicit StackTexts(Database &database);
  // Valid until the next call; empty where a part of the stack is gone or damaged.
  std::string_view text(int64_t node);
  // The node of a text; 0 where there is none.
  int64_t find(std::string_view folded);

 private:
  struct Node {
    int64_t parent = 0, frame = 0;  // frame 0: there is no such node
  };
  // Nodes of one program were mostly made one after the other: 32 are read in one query.
  static constexpr int64_t kPage = 32;
  using Page = std::array<Node, kPage>;
  const Node &node(int64_t id);
  const std::optional<std::string> &frame(int64_t id);
  // The frames from the leaf on; false where they do not end at a root.
  bool walk(int64_t node);

  Statement find_nodes_, find_frame_, find_name_, find_child_;
  std::unordered_map<int64_t, Page> pages_;  // by id / kPage
  std::unordered_map<int64_t, std::optional<std::string>> frames_;
  size_t bytes_ = 0;  // of both, about
  std::string text_;
  std::vector<int64_t> path_;
};

}  // namespace atalaya::store
