// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/folder.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace atalaya::perf {
namespace {

std::string folded(const StackCount &stack, bool kernel = true, bool *whole = nullptr) {
  static const symbols::KernelSymbols names(
      "ffffffff81000000 T outer\nffffffff81000100 T inner;x\nffffffff81000200 T end\n"
      "ffffffff81000300 T bpf_trace_run4\nffffffffc0000000 t bpf_prog_1_on_switch\t[bpf]\n");
  symbols::ElfFiles files(1 << 20);
  Folder folder(files, kernel);
  folder.set_kernel_symbols(&names);
  std::string text;
  const bool reached = folder.fold(stack, nullptr, text);
  if (whole != nullptr) *whole = reached;
  return text;
}

}  // namespace

TEST_CASE("a kernel thread's stack is whole; names hold no separator") {
  constexpr std::array<uint64_t, 2> frames = {0xffffffff81000100, 0xffffffff81000010};
  bool whole = false;
  CHECK(folded({.process = {.pid = 7}, .comm = "kworker/0:1 ;x", .kernel = frames}, true, &whole) == "outer_[k];inner:x_[k]");
  CHECK(whole);
  CHECK(folded({.process = {.pid = 7}, .comm = "k", .kernel = frames}, false).empty());
}

TEST_CASE("a return address belongs to the call before it") {
  constexpr std::array<uint64_t, 2> frames = {0xffffffff81000200, 0xffffffff81000100};
  CHECK(folded({.process = {.pid = 7}, .comm = "k", .kernel = frames}) == "outer_[k];end_[k]");
}

TEST_CASE("where a thread waits, the program that looks is left out") {
  constexpr std::array<uint64_t, 4> frames = {0xffffffffc0000010, 0xffffffff81000310, 0xffffffff81000110, 0xffffffff81000010};
  CHECK(folded({.process = {.pid = 7}, .comm = "k", .off_cpu = true, .kernel = frames}) == "outer_[k];inner:x_[k]");
  CHECK(folded({.process = {.pid = 7}, .comm = "k", .kernel = frames}) ==
        "outer_[k];inner:x_[k];bpf_trace_run4_[k];bpf_prog_1_on_switch_[k]");
}

TEST_CASE("a stack that ends early is marked") {
  constexpr std::array<uint64_t, 1> user = {0x1000};
  bool whole = true;
  CHECK(folded({.process = {.pid = 7}, .comm = "p", .has_user = true, .user = user}, true, &whole) == "[unwind failed];[unknown]");
  CHECK_FALSE(whole);
  CHECK(folded({.process = {.pid = 7}, .comm = "p", .has_user = true}) == "[unwind failed]");
  CHECK(folded({.process = {.pid = 7}, .comm = "p", .has_user = true, .end = End::truncated, .user = user}) ==
        "[truncated];[unknown]");
  CHECK(folded({.process = {.pid = 7}, .comm = "p", .has_user = true, .kernel_lost = true, .user_lost = true}) ==
        "[stack lost];[stack lost]_[k]");
}

TEST_CASE("a program's names are not taken for other frames") {
  const auto frame = [](std::string_view name) {
    std::string out;
    append_name(name, out);
    return out;
  };
  CHECK(frame("x_[k]") == "x_(k)");
  CHECK(frame("x_[libjvm.so]") == "x_(libjvm.so)");
  CHECK(frame("f_[a]::g[]") == "f_[a]::g[]");
  CHECK(frame("[stack lost]") == "(stack lost]");
  CHECK(frame("a::operator[]") == "a::operator[]");
  CHECK(frame("int[] A.b(int[])") == "int[] A.b(int[])");
  CHECK(frame("").empty());
}

TEST_CASE("frames of libraries keep their file, those of the program do not") {
  const auto frame = [](std::string path) {
    std::string out = "f";
    symbols::Mapping mapping;
    mapping.file.inode = 1;
    mapping.path = std::move(path);
    append_module(mapping, out);
    return out;
  };
  CHECK(frame("/usr/lib/jvm/lib/server/libjvm.so") == "f_[libjvm.so]");
  CHECK(frame("/lib/x86_64-linux-gnu/libc.so.6") == "f_[libc.so.6]");
  CHECK(frame("/lib64/ld-2.31.so") == "f_[ld-2.31.so]");
  CHECK(frame("/tmp/a;b.so") == "f_[a:b.so]");
  CHECK(frame("/usr/bin/python3.11") == "f");
  CHECK(frame("[vdso]") == "f");
  CHECK(frame("/tmp/" + std::string(300, 'x') + ".so") == "f_[" + std::string(64, 'x') + "]");
}

TEST_CASE("threads begin in few functions") {
  CHECK(is_root("_start"));
  CHECK(is_root("start_thread"));
  CHECK(is_root("runtime.goexit"));
  CHECK(is_root("runtime.goexit.abi0"));
  CHECK_FALSE(is_root("main.abi0"));
  CHECK_FALSE(is_root("main"));
  CHECK_FALSE(is_root("start"));
  CHECK_FALSE(is_root("thread_start"));
}

}  // namespace atalaya::perf
