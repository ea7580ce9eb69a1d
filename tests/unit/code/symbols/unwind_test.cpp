// SPDX-License-Identifier: Apache-2.0
// The test's own stack, unwound by the tables of its own files.
#include <doctest/doctest.h>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "plugins/shared/code/symbols/process/process_memory.h"
#include "plugins/shared/code/symbols/unwind/unwinder.h"

namespace atalaya::symbols {
namespace {

struct Taken {
  Registers registers{};
  std::vector<std::byte> stack;
};

#if defined(__x86_64__)
Registers numbered(const mcontext_t &machine) {
  Registers registers{};
  static constexpr int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                   REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  for (size_t i = 0; i < std::size(kOrder); ++i) registers[i] = static_cast<uint64_t>(machine.gregs[kOrder[i]]);
  return registers;
}

uint64_t stack_top() {
  pthread_attr_t attributes;
  void *begin = nullptr;
  size_t size = 0;
  REQUIRE(::pthread_getattr_np(::pthread_self(), &attributes) == 0);
  ::pthread_attr_getstack(&attributes, &begin, &size);
  ::pthread_attr_destroy(&attributes);
  return reinterpret_cast<uint64_t>(begin) + size;
}

// Byte by byte, as a stack is full of bytes that a sanitizer makes unreadable.
__attribute__((no_sanitize("address"))) void copy_stack(std::vector<std::byte> &to, uint64_t from) {
  const auto *bytes = reinterpret_cast<const volatile std::byte *>(from);  // NOLINT(performance-no-int-to-ptr)
  std::byte *at = to.data();
  for (size_t i = 0, size = to.size(); i < size; ++i) at[i] = bytes[i];
}

// The upper part of the stack, up to the requested size.
__attribute__((noinline)) void take(Taken &taken, size_t bytes) {
  ucontext_t context{};
  REQUIRE(::getcontext(&context) == 0);
  taken.registers = numbered(context.uc_mcontext);
  const uint64_t from = taken.registers[kStackPointer];
  taken.stack.resize(std::min(bytes, stack_top() - from));
  copy_stack(taken.stack, from);
}

__attribute__((noinline)) int deep(int depth, Taken &taken, size_t bytes) {
  if (depth == 0) {
    take(taken, bytes);
    return 1;
  }
  // A separate frame for each call.
  volatile int below = deep(depth - 1, taken, bytes);
  return below + depth;
}

struct Result {
  Unwound end;
  std::vector<std::string> names;
  ptrdiff_t files = 0;  // that are open then
};

ptrdiff_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

Result unwound(const Taken &taken, size_t max_bytes = size_t{64} << 20) {
  ProcessMemory memory(::getpid());
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  Unwinder unwinder(max_bytes);
  ElfFiles files(size_t{64} << 20);
  std::vector<uint64_t> frames;
  const Unwound end = unwinder.unwind(memory.maps(), taken.registers, {taken.registers[kStackPointer], taken.stack}, frames, [] {});
  Result result{end, {}, open_files()};
  for (size_t i = 0; i < frames.size(); ++i) result.names.emplace_back(memory.find(frames[i] - (i > 0 ? 1 : 0), files).name);
  return result;
}

size_t count(const Result &result, const std::string &part) {
  return static_cast<size_t>(std::count_if(result.names.begin(), result.names.end(),
                                           [&](const auto &name) { return name.find(part) != std::string::npos; }));
}

// From the corpus of the fuzz target, which begins with 256 bytes of a stack.
std::unique_ptr<UnwindTable> table_of(const std::string &name) {
  std::ifstream file("tests/fuzz/corpus/unwind/" + name, std::ios::binary);
  static std::string bytes;
  bytes.assign(std::istreambuf_iterator<char>(file), {});
  REQUIRE(bytes.size() > 256);
  return UnwindTable::of_memory(std::as_bytes(std::span(bytes)).subspan(256));
}

TEST_CASE("code with frame pointers, and code without") {
  constexpr uint64_t kBegin = 0x260, kEnd = 0x2ec;  // .text
  CHECK(table_of("frame_pointer")->keeps_frame_pointer(kBegin, kEnd));
  CHECK(!table_of("no_frame_pointer")->keeps_frame_pointer(kBegin, kEnd));
}

TEST_CASE("equal rules take memory once") {
  const auto table = table_of("frame_pointer");
  const UnwindRule *const rule = table->rule_at(0x264);
  REQUIRE(rule != nullptr);
  const size_t before = table->bytes();
  CHECK(table->rule_at(0x265) == rule);
  CHECK(table->bytes() - before < sizeof(UnwindRule));
}

TEST_CASE("a thread's stack is followed to where it began") {
  Taken taken;
  std::thread([&] { deep(20, taken, 65536); }).join();
  const Result result = unwound(taken);
  CHECK(result.end == Unwound::to_root);
  CHECK(count(result, "take") >= 1);
  CHECK(count(result, "deep") >= 20);
}

TEST_CASE("tables are read at once, and read again when they had to make room") {
  Taken taken;
  std::thread([&] { deep(20, taken, 65536); }).join();
  const ptrdiff_t before = open_files();
  const Result result = unwound(taken, 0);
  CHECK(result.end == Unwound::to_root);
  CHECK(result.files == before);
}

TEST_CASE("in one window, tables without room are read again for a limited number of bytes; then stacks are truncated") {
  Taken taken;
  std::thread([&] { deep(20, taken, 65536); }).join();
  ProcessMemory memory(::getpid());
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  Unwinder unwinder(0);
  std::vector<uint64_t> frames;
  const auto unwind = [&] {
    return unwinder.unwind(memory.maps(), taken.registers, {taken.registers[kStackPointer], taken.stack}, frames, [] {});
  };
  CHECK(unwind() == Unwound::to_root);
  Unwound end = Unwound::to_root;
  for (int i = 0; i < 10000 && end == Unwound::to_root; ++i) end = unwind();
  CHECK(end == Unwound::truncated);
  CHECK(!unwinder.keeps_frame_pointers(memory.maps()));  // neither known nor readable now: not to be trusted
  unwinder.next_window();
  CHECK(unwind() == Unwound::to_root);
}

TEST_CASE("a copy that is too short ends the stack, and is marked") {
  Taken taken;
  std::thread([&] { deep(20, taken, 512); }).join();
  const Result result = unwound(taken);
  CHECK(result.end == Unwound::truncated);
  CHECK(count(result, "deep") < 20);
}

TEST_CASE("an address of nothing has no caller") {
  Taken taken;
  taken.registers[kProgramCounter] = 8;
  CHECK(unwound(taken).end == Unwound::failed);
}

Taken *in_handler = nullptr;

TEST_CASE("a signal's handler is followed into the interrupted function") {
  Taken taken;
  in_handler = &taken;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { take(*in_handler, 65536); };
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  std::thread([] { ::pthread_kill(::pthread_self(), SIGUSR1); }).join();
  ::sigaction(SIGUSR1, &before, nullptr);
  const Result result = unwound(taken);
  CHECK(result.end == Unwound::to_root);
}
#endif

}  // namespace
}  // namespace atalaya::symbols
