// SPDX-License-Identifier: Apache-2.0
// Stacks as a prefix tree: a frame's name is stored once, and so is the common part of stacks from their root. A stack is
// represented by the number of the node of its last frame. A parent is older than its children, so that its number is smaller.
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

// A stack with more frames, or a longer text, is stored as its leaf end below one frame of this name.
constexpr std::string_view kTruncated = "[truncated]";
constexpr size_t kMaxFrames = 2048;
constexpr size_t kMaxStackLength = 256 << 10;  // maximum bytes of an input stack

// Writes stacks. Calls are in a transaction.
class StackTree {
 public:
  explicit StackTree(Database &database);

  struct Stack {
    int64_t node = 0;
    bool is_whole = true;
  };
  // Adds a stack that arrives now. Bytes that are not UTF-8 become U+FFFD.
  Stack put(std::string_view folded, int64_t now_ns);
  // Call it after a rollback.
  void forget();
  // Checks a bounded number of nodes and frames, from where the last call ended; deletes those that were not seen since the
  // time.
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
  // A table of frames or nodes, whose keys are unique, and the hour until which each may have been seen.
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
  size_t bytes_ = 0;       // approximate bytes of both tables
  int64_t expired_h_ = 0;  // entries that were last seen before this hour may have been deleted
  std::string scratch_;
};

// Reads the texts of stacks.
class StackTexts {
 public:
  explicit StackTexts(Database &database);
  // Valid until the next call; empty if a part of the stack was deleted or is damaged.
  std::string_view text(int64_t node);
  // Returns the node of a text; 0 if there is none.
  int64_t find(std::string_view folded);

 private:
  struct Node {
    int64_t parent = 0, frame = 0;  // frame 0: the node does not exist
  };
  // Nodes that are read in one query, because most nodes of one program have adjacent numbers.
  static constexpr int64_t kPage = 32;
  using Page = std::array<Node, kPage>;
  const Node &node(int64_t id);
  const std::optional<std::string> &frame(int64_t id);
  // Reads the frames from the leaf on. False: they do not end at a root.
  bool walk(int64_t node);

  Statement find_nodes_, find_frame_, find_name_, find_child_;
  std::unordered_map<int64_t, Page> pages_;  // pages by id / kPage
  std::unordered_map<int64_t, std::optional<std::string>> frames_;
  size_t bytes_ = 0;  // approximate bytes of the pages and the frames
  std::string text_;
  std::vector<int64_t> path_;
};

}  // namespace atalaya::store
