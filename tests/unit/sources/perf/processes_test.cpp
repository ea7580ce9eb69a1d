// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/processes.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "core/base/now.h"

namespace atalaya::perf {
namespace {

ProcessId own_id() {
  const auto mark = symbols::read_mark(::getpid());
  const auto ticks = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  return {::getpid(), mark->start_ticks * (1'000'000'000 / ticks), mark->image};
}

// Only once a second.
void see_again(Processes &processes) {
  const int64_t second = core::monotonic() / 1'000'000'000;
  while (core::monotonic() / 1'000'000'000 == second) ::usleep(1000);
  processes.read_sampled(own_id(), true);
}

}  // namespace

TEST_CASE("of several readings of a process the last holds") {
  static constexpr size_t kPage = 4096;
  Processes processes(size_t{64} << 20, nullptr);
  processes.read_sampled(own_id(), false);
  void *code = ::mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(code != MAP_FAILED);
  see_again(processes);
  processes.next_window();
  const Process *process = processes.find(own_id());
  REQUIRE(process != nullptr);
  CHECK(process->memory.maps().at(reinterpret_cast<uint64_t>(code)) != nullptr);
  ::munmap(code, kPage);
}

TEST_CASE("only so much is read each second, little of it of processes that are new") {
  constexpr int64_t kSecond = 1'000'000'000;
  const auto allowed = [](ReadLimit &limit, bool again, int64_t now_ns) {
    size_t count = 0;
    for (int pid = 1; pid <= 200; ++pid) count += limit.allows({pid, 1, 1}, again, now_ns) ? 1 : 0;
    return count;
  };
  ReadLimit limit;
  CHECK(allowed(limit, false, kSecond) == ReadLimit::kNew);
  CHECK(allowed(limit, true, kSecond + 1) == ReadLimit::kProcesses - ReadLimit::kNew);
  CHECK(allowed(limit, true, 2 * kSecond - 1) == 0);
  CHECK(allowed(limit, true, 2 * kSecond) == ReadLimit::kProcesses);
  CHECK(limit.allows({1, 1, 1}, true, 3 * kSecond));
  CHECK_FALSE(limit.allows({1, 1, 1}, true, 3 * kSecond));  // once a second
  limit.add_bytes(ReadLimit::kBytes);
  CHECK_FALSE(limit.allows({2, 1, 1}, true, 3 * kSecond));
  CHECK(limit.allows({2, 1, 1}, true, 4 * kSecond));
}

TEST_CASE("known processes are limited to the maximum, except for the requested one") {
  Processes processes(1, nullptr);
  processes.read_sampled(own_id(), false);
  processes.next_window();
  CHECK(processes.bytes() == 0);
  CHECK(processes.find(own_id()) != nullptr);
  CHECK(processes.bytes() > 1);
}

TEST_CASE("a process with another identity is unknown") {
  Processes processes(size_t{64} << 20, nullptr);
  ProcessId other = own_id();
  other.image += 1;
  processes.read_sampled(other, false);
  processes.next_window();
  CHECK(processes.bytes() == 0);
  CHECK(processes.find(other) == nullptr);
}

}  // namespace atalaya::perf
