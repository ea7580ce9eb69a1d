// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/processes.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "core/util/now.h"

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
  processes.see(own_id(), true);
}

}  // namespace

TEST_CASE("of several readings of a process the last holds") {
  static constexpr size_t kPage = 4096;
  Processes processes(size_t{64} << 20, nullptr);
  processes.see(own_id(), false);
  void *code = ::mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(code != MAP_FAILED);
  see_again(processes);
  processes.next_window();
  const Process *process = processes.find(own_id());
  REQUIRE(process != nullptr);
  CHECK(process->memory.maps().at(reinterpret_cast<uint64_t>(code)) != nullptr);
  ::munmap(code, kPage);
}

TEST_CASE("what is known of processes is no more than fits, but for the one that is asked for") {
  Processes processes(1, nullptr);
  processes.see(own_id(), false);
  processes.next_window();
  CHECK(processes.bytes() == 0);
  CHECK(processes.find(own_id()) != nullptr);
  CHECK(processes.bytes() > 1);
}

TEST_CASE("a process that is not that one is not known") {
  Processes processes(size_t{64} << 20, nullptr);
  ProcessId other = own_id();
  other.image += 1;
  processes.see(other, false);
  processes.next_window();
  CHECK(processes.bytes() == 0);
  CHECK(processes.find(other) == nullptr);
}

}  // namespace atalaya::perf
