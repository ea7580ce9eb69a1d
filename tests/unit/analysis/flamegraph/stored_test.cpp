// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/stored.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "plugins/shared/analysis/flamegraph/files/folded.h"
#include "plugins/shared/store/query/types.h"
#include "tests/unit/store/query/memory_store.h"

namespace atalaya::flamegraph {
namespace {

struct Seen {
  store::Tags tags;
  std::string folded;
  double samples = 0, ns = 0;
};

// Stacks of one window; the selection's tags are noted, not looked at.
class Stacks final : public query::test::MemoryStore {
 public:
  explicit Stacks(std::vector<Seen> all) : all_(std::move(all)) {}
  void whole_stacks(const store::Selection &wanted, const std::function<void(const store::Stack &)> &visitor) override {
    selection = wanted;
    std::map<store::Tags, int64_t> entities;
    std::map<std::string, int64_t> numbers;
    for (const Seen &kept : all_) {
      const std::vector<store::Field> fields = {{"profile.samples", true, 0, static_cast<int64_t>(kept.samples)},
                                                {"profile.ns", false, kept.ns, 0}};
      visitor({0, 0, entities.try_emplace(kept.tags, entities.size()).first->second,
               numbers.try_emplace(kept.folded, numbers.size()).first->second, kept.tags, kept.folded, fields});
    }
  }
  store::Selection selection;

 private:
  std::vector<Seen> all_;
};

std::string folded(Stacks &store, const Wanted &wanted, const query::Limits &limits = {}) {
  Tree tree;
  query::Budget budget(limits);
  add_stored(tree, Side::shown, store, wanted, {1, 2}, budget);
  tree.finish();
  return folded_of(tree, false);
}

store::Tags process(const std::string &host, const std::string &name, const std::string &pid) {
  return {{"host", host}, {"process", name}, {"pid", pid}};
}

const std::vector<Seen> kTwoHosts = {{process("h1", "java", "1"), "a", 1, 5e9},
                                     {process("h2", "java", "1"), "a", 2, 0},
                                     {process("h1", "java", "1"), "a", 4, 0},
                                     {process("h2", "java", "2"), "b", 8, 0},
                                     {{}, "c", 16, 0}};

TEST_CASE("windows and hosts are added up") {
  Stacks store(kTwoHosts);
  CHECK(folded(store, {}) == "(no process);c 16\njava-1;a 7\njava-2;b 8\n");
  CHECK(folded(store, {.by = By::name}) == "(no process);c 16\njava;a 7\njava;b 8\n");
  CHECK(folded(store, {.by = By::host}) == "(no host);(no process);c 16\nh1;java-1;a 5\nh2;java-1;a 2\nh2;java-2;b 8\n");
}

TEST_CASE("a process without frames, and one that makes up its name") {
  Stacks store({{process("h", "a;b", "1"), "", 3, 0}, {process("h", "a:b", "1"), "main", 1, 0}});
  CHECK(folded(store, {}) == "a:b-1 3\na:b-1;main 1\n");
}

TEST_CASE("waits count their time") {
  Stacks store(kTwoHosts);
  CHECK(folded(store, {.profile = "offcpu"}) == "java-1;a 5000000000\n");
}

TEST_CASE("thread dumps count their time: one JVM has more of them than another") {
  Stacks store(kTwoHosts);
  CHECK(folded(store, {.profile = "wall"}) == "java-1;a 5000000000\n");
}

TEST_CASE("only one kind of profile is read, in addition to the other filters") {
  Stacks store({});
  CHECK(folded(store, {.tags = {{"host", {"h1"}}}, .profile = "wall"}).empty());
  REQUIRE(store.selection.tags.size() == 2);
  CHECK(store.selection.tags[0].key == "host");
  CHECK(store.selection.tags[1].key == "profile");
  CHECK(store.selection.tags[1].patterns == std::vector<std::string>{"wall"});
  CHECK(store.selection.range.from_ns == 1);
}

TEST_CASE("more different stacks than are allowed end the question") {
  Stacks store(kTwoHosts);
  CHECK_THROWS_AS(folded(store, {}, {.points = 2}), query::TooMuch);
}

}  // namespace
}  // namespace atalaya::flamegraph
