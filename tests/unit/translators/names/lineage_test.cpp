// SPDX-License-Identifier: Apache-2.0
// Law: each process has, for each inherited tag, the value of its nearest ancestor that has one, in whichever order processes are
// read and end.
#include "plugins/translators/names/resolve/lineage.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/rounds.h"

namespace atalaya::testing {

using names::Lineage;
using names::Relative;
using names::Tags;

namespace {

constexpr uint32_t kTags = 2;

// A host whose processes start, run other programs and end. The oracle: each process knows its true parent, also after its end.
class Tree {
 public:
  struct Node {
    Relative seen;
    int true_parent = -1;  // index
    Tags own;
    bool alive = true, known = false, has_children = false;
  };

  explicit Tree(uint32_t seed, size_t capacity = 65536)
      : random_(seed),
        lineage_({.find = [this](int32_t pid) { return find(pid); }, .program = [this](int32_t pid) { return program(pid); }},
                 capacity) {
    nodes_.push_back({.seen = {.pid = 1}, .known = true});
  }

  uint32_t below(size_t limit) { return static_cast<uint32_t>(random_() % limit); }
  std::vector<int> living() const {
    std::vector<int> all;
    for (size_t i = 1; i < nodes_.size(); ++i)
      if (nodes_[i].alive) all.push_back(static_cast<int>(i));
    return all;
  }
  int any_living() {
    const std::vector<int> all = living();
    return all.empty() ? 0 : all[below(all.size())];
  }

  void fork() {
    const int parent = any_living();
    Node &of = nodes_[static_cast<size_t>(parent)];
    of.has_children = true;
    Node child{.seen = of.seen, .true_parent = parent, .own = {}};
    child.seen.parent = of.seen.pid;
    child.seen.start_ticks = ++clock_;
    child.seen.pid = free_pid();
    set_program(child);
    nodes_.push_back(child);
  }
  void exec() {
    Node &node = nodes_[static_cast<size_t>(any_living())];
    if (node.seen.pid == 1 || node.has_children) return;
    set_program(node);
    node.known = false;
  }
  // The children of an ending process are read before: a collector reads all processes in each window.
  void end() {
    const int ended = any_living();
    if (ended == 0) return;
    for (const int i : living()) {
      Node &child = nodes_[static_cast<size_t>(i)];
      if (child.seen.parent != nodes_[static_cast<size_t>(ended)].seen.pid) continue;
      if (!child.known) check(i);
      child.seen.parent = 1;
    }
    nodes_[static_cast<size_t>(ended)].alive = false;
  }

  // Reads the process as the resolver does.
  void check(int index) {
    Node &node = nodes_[static_cast<size_t>(index)];
    const Lineage::Inherited got = lineage_.of(node.seen);
    CHECK(got.settled);
    CHECK(values(got.tags) == expected(node.true_parent));
    lineage_.learn(node.seen, {node.own, true});
    node.known = true;
  }

  Lineage &lineage() { return lineage_; }

 private:
  using Values = std::map<uint32_t, std::string>;
  static Values values(const Tags &tags) {
    Values all;
    for (const auto &tag : tags) all[tag.tag] = tag.value;
    return all;
  }
  Values expected(int index) const {
    Values all;
    for (; index >= 0; index = nodes_[static_cast<size_t>(index)].true_parent)
      for (const auto &tag : nodes_[static_cast<size_t>(index)].own)
        if (tag.inherited) all.emplace(tag.tag, tag.value);
    return all;
  }

  void set_program(Node &node) {
    node.seen.image = ++images_;
    node.seen.name = below(3);
    node.own.clear();
    for (uint32_t tag = 0; tag < kTags; ++tag)
      if (below(4) == 0) node.own.push_back({tag, std::to_string(images_), below(4) != 0});
  }
  // Few pids, so that they are reused.
  int32_t free_pid() {
    for (;;) {
      const auto pid = static_cast<int32_t>(2 + below(60));
      const bool used =
          std::any_of(nodes_.begin(), nodes_.end(), [&](const Node &one) { return one.alive && one.seen.pid == pid; });
      if (!used) return pid;
    }
  }
  const Node *alive(int32_t pid) const {
    for (const Node &node : nodes_)
      if (node.alive && node.seen.pid == pid) return &node;
    return nullptr;
  }
  std::optional<Relative> find(int32_t pid) const {
    const Node *node = alive(pid);
    return node == nullptr ? std::nullopt : std::optional(node->seen);
  }
  Lineage::Program program(int32_t pid) const {
    const Node *node = alive(pid);
    return node == nullptr ? Lineage::Program{} : Lineage::Program{node->own, true};
  }

  std::mt19937 random_;
  std::vector<Node> nodes_;
  uint64_t clock_ = 0, images_ = 0;
  Lineage lineage_;
};

}  // namespace

TEST_CASE("law: each process has the tags of its nearest ancestor that has them, in any order of reading, exec and ends") {
  for (uint32_t seed = 0; seed < test::rounds(400); ++seed) {
    CAPTURE(seed);
    Tree tree(seed);
    for (int step = 0; step < 200; ++step) {
      const uint32_t what = tree.below(10);
      if (what < 4 && tree.living().size() < 40)
        tree.fork();
      else if (what < 5)
        tree.exec();
      else if (what < 7)
        tree.end();
      else if (const int index = tree.any_living(); index != 0)
        tree.check(index);
    }
    for (const int index : tree.living()) tree.check(index);
  }
}

TEST_CASE("beyond the capacity the tags of living ancestors are read again") {
  Tree tree(7, 4);
  for (int i = 0; i < 40; ++i) tree.fork();
  for (int round = 0; round < 200; ++round) tree.check(tree.any_living());
}

TEST_CASE("tags that are not certain yet are read again") {
  Lineage::Program daemon{.tags = {}, .settled = false};
  const std::map<int32_t, Relative> processes = {{10, {.pid = 10, .parent = 1, .start_ticks = 1}}};
  const auto find = [&](int32_t pid) {
    const auto found = processes.find(pid);
    return found == processes.end() ? std::nullopt : std::optional(found->second);
  };
  Lineage lineage({.find = find, .program = [&](int32_t) { return daemon; }}, 100);
  const Relative child{.pid = 11, .parent = 10, .start_ticks = 2};
  CHECK_FALSE(lineage.of(child).settled);
  daemon = {.tags = {{0, "job-1", true}}, .settled = true};
  const Lineage::Inherited got = lineage.of(child);
  CHECK(got.settled);
  REQUIRE(got.tags.size() == 1);
  CHECK(got.tags[0].value == "job-1");
}

}  // namespace atalaya::testing
