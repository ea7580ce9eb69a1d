// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/jvm/profile/stack_tree.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace atalaya::jvm {
namespace {

using Frames = std::vector<std::string_view>;

void add(StackTree &tree, const Frames &frames, int64_t ns) {
  tree.add(frames, false, {1, ns}, {1, ns * 2});
}

std::vector<std::string> texts(const std::vector<StackTime> &stacks, bool on_cpu = true) {
  std::vector<std::string> all;
  all.reserve(stacks.size());
  for (const StackTime &stack : stacks) all.push_back(stack.text + " " + std::to_string((on_cpu ? stack.on_cpu : stack.wall).ns));
  return all;
}

constexpr std::string_view kRun = "a.Main.run(Main.java:9)", kFib = "a.Fib.fib(Fib.java:2)", kFibLater = "a.Fib.fib(Fib.java:3)",
                           kRead = "java.io.In.read(java.base@17/Native Method)";

}  // namespace

TEST_CASE("self-time is of the innermost function alone, recursion counts once") {
  StackTree tree;
  add(tree, {kFib, kFib, kFibLater, kRun}, 50);
  add(tree, {kFibLater, kFib, kRun}, 20);
  add(tree, {kRead, kRun}, 30);
  add(tree, {kRun}, 1);
  const auto functions = tree.functions(10);
  REQUIRE(functions.size() == 3);
  CHECK(functions[0].name == "a.Fib fib");
  CHECK(functions[0].self.ns == 70);
  CHECK(functions[0].self.samples == 2);
  CHECK(functions[0].trace == "a.Fib fib (Fib.java:2)\na.Fib fib (Fib.java:2)\na.Fib fib (Fib.java:3)\na.Main run (Main.java:9)");
  CHECK(functions[0].stack == "a.Main run (Main.java:9);a.Fib fib (Fib.java:3);a.Fib fib (Fib.java:2);a.Fib fib (Fib.java:2)");
  CHECK(functions[1].name == "java.io.In read");
  CHECK(functions[1].trace == "java.io.In read (In.java:-2)\na.Main run (Main.java:9)");
  CHECK(functions[2].name == "a.Main run");
  CHECK(tree.on_cpu().ns == 101);
  CHECK(tree.functions(1).size() == 1);
  CHECK(tree.functions(0).empty());
}

TEST_CASE("stacks lose their lines and are added up, and those beyond the maximum are reported as one") {
  StackTree tree;
  add(tree, {kFib, kRun}, 50);
  add(tree, {kFibLater, kRun}, 20);
  add(tree, {kRead, kRun}, 30);
  add(tree, {kRun}, 1);
  CHECK(texts(tree.stacks(10, true)) ==
        std::vector<std::string>{"a.Main.run_[j];a.Fib.fib_[j] 70", "a.Main.run_[j];java.io.In.read_[j] 30", "a.Main.run_[j] 1"});
  CHECK(texts(tree.stacks(1, true)) == std::vector<std::string>{"a.Main.run_[j];a.Fib.fib_[j] 70", "[other] 31"});
  CHECK(texts(tree.stacks(1, false), false) == std::vector<std::string>{"a.Main.run_[j];a.Fib.fib_[j] 140", "[other] 62"});
}

TEST_CASE("waiting time is in no function") {
  StackTree tree;
  tree.add(Frames{kRead, kRun}, false, {}, {1, 10});
  CHECK(tree.functions(10).empty());
  CHECK(tree.stacks(10, true).empty());
  CHECK(texts(tree.stacks(10, false)).size() == 1);
}

TEST_CASE("stacks beyond the limit are reported, and nothing of the sum is lost") {
  StackTree tree({.nodes = 3, .frames = 2, .frame_bytes = 30, .bytes = 1000});
  add(tree, {kFib, kRun}, 1);
  add(tree, {kRead, kRun}, 2);                                // too many frames
  add(tree, {kFib, kFib, kFib, kFib, kRun}, 4);               // too many nodes
  add(tree, {"a.Long.name(Long.java:1234567890)", kRun}, 8);  // too long
  add(tree, {"no frame", kRun}, 16);
  int64_t sum = 0;
  for (const StackTime &stack : tree.stacks(10, true)) sum += stack.on_cpu.ns;
  CHECK(sum == 31);
  CHECK(texts(tree.stacks(10, true)).back() == "[stack lost] 30");
  CHECK(tree.lost() == 4);
}

TEST_CASE("texts are limited in bytes: excess stacks are reported as others, traces are cut at their roots") {
  StackTree tree({.nodes = 100, .frames = 100, .frame_bytes = 100, .bytes = 65});
  add(tree, {kFib, kFib, kFib, kRun}, 50);
  add(tree, {kRun}, 20);
  CHECK(texts(tree.stacks(10, true)) ==
        std::vector<std::string>{"a.Main.run_[j];a.Fib.fib_[j];a.Fib.fib_[j];a.Fib.fib_[j] 50", "[other] 20"});
  CHECK(tree.functions(10)[0].trace == "a.Fib fib (Fib.java:2)\na.Fib fib (Fib.java:2)\n[truncated]");
  CHECK(tree.functions(10)[0].stack == "[truncated];a.Fib fib (Fib.java:2);a.Fib fib (Fib.java:2)");
  add(tree, {"a.Other.of_many_bytes_in_its_name(Other.java:1)", kRun}, 1);
  CHECK(tree.lost() == 1);
}

TEST_CASE("names that would break a stack or a trace are fixed") {
  StackTree tree;
  add(tree, {"a.B.c;d\te(B.java:1)"}, 1);
  CHECK(tree.stacks(1, true).front().text == "a.B.c:d e_[j]");
  CHECK(tree.functions(1).front().stack == "a.B c:d e (B.java:1)");
}

}  // namespace atalaya::jvm
