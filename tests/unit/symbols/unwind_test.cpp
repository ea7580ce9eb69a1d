// SPDX-License-Identifier: Apache-2.0
// The test's own stack, taken apart by the tables of its own files.
#include <doctest/doctest.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "plugins/symbols/unwinder.h"

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

// The upper part of the stack, as much as is asked for.
__attribute__((noinline)) void take(Taken &taken, size_t bytes) {
  ucontext_t context{};
  REQUIRE(::getcontext(&context) == 0);
  taken.registers = numbered(context.uc_mcontext);
  const auto *from = reinterpret_cast<const std::byte *>(taken.registers[kStackPointer]);  // NOLINT(performance-no-int-to-ptr)
  taken.stack.resize(bytes);
  std::memcpy(taken.stack.data(), from, bytes);
}

__attribute__((noinline)) int deep(int depth, Taken &taken, size_t bytes) {
  if (depth == 0) {
    take(taken, bytes);
    return 1;
  }
  // A frame of its own for each call.
  volatile int below = deep(depth - 1, taken, bytes);
  return below + depth;
}

struct Result {
  Unwound end;
  std::vector<std::string> names;
};

Result unwound(const Taken &taken) {
  ProcessMemory memory(::getpid());
  REQUIRE(memory.refresh(*read_mark(::getpid())));
  Unwinder unwinder;
  ElfFiles files(size_t{64} << 20);
  std::vector<uint64_t> frames;
  const Unwound end = unwinder.unwind(memory, taken.registers, {taken.registers[kStackPointer], taken.stack}, frames, [] {});
  Result result{end, {}};
  for (size_t i = 0; i < frames.size(); ++i) result.names.emplace_back(memory.find(frames[i] - (i > 0 ? 1 : 0), files).name);
  return result;
}

size_t count(const Result &result, const std::string &part) {
  return static_cast<size_t>(std::count_if(result.names.begin(), result.names.end(),
                                           [&](const auto &name) { return name.find(part) != std::string::npos; }));
}

TEST_CASE("a thread's stack is followed to where it began") {
  Taken taken;
  std::thread([&] { deep(20, taken, 8192); }).join();
  const Result result = unwound(taken);
  CHECK(result.end == Unwound::to_root);
  CHECK(count(result, "take") >= 1);
  CHECK(count(result, "deep") >= 20);
}

TEST_CASE("a copy that is too short ends the stack, and says so") {
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

__attribute__((noinline)) int deep_and_kill(int depth) {
  if (depth == 0) return ::pthread_kill(::pthread_self(), SIGUSR1);
  volatile int below = deep_and_kill(depth - 1);
  return below + depth;
}

TEST_CASE("a signal's handler is followed into what it interrupted") {
  Taken taken;
  in_handler = &taken;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { take(*in_handler, 12288); };
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  std::thread([] {
    deep_and_kill(200);  // so that the copy ends within the stack
  }).join();
  ::sigaction(SIGUSR1, &before, nullptr);
  const Result result = unwound(taken);
  CHECK(result.end == Unwound::to_root);
}
#endif

}  // namespace
}  // namespace atalaya::symbols
