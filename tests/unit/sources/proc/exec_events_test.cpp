// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/exec_events.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::procfs {
namespace {

// Recorded from kernel 6.18: `true` starts.
constexpr unsigned char kRecorded[] = {0x4c, 0, 0,    0,    3, 0, 0,    0, 0x2a, 1,    0,    0,    0, 0, 0,    0, 1,    0,
                                       0,    0, 1,    0,    0, 0, 0x17, 9, 0,    0,    0,    0,    0, 0, 0x28, 0, 0,    0,
                                       2,    0, 0,    0,    1, 0, 0,    0, 0x88, 0x13, 0x40, 0x21, 7, 2, 0,    0, 0xd5, 0x4d,
                                       0,    0, 0xd4, 0x4d, 0, 0, 0,    0, 0,    0,    0,    0,    0, 0, 0,    0, 0,    0};

std::span<const std::byte> recorded(size_t size = sizeof(kRecorded)) {
  return {reinterpret_cast<const std::byte *>(kRecorded), size};
}

// The kernel numbers the first namespace of each kind (linux/proc_ns.h).
bool in_host_namespace(const std::string &kind, uint32_t number) {
  std::array<char, 64> link{};
  const ssize_t size = ::readlink(("/proc/self/ns/" + kind).c_str(), link.data(), link.size());
  return size > 0 && std::string_view(link.data(), static_cast<size_t>(size)) == kind + ":[" + std::to_string(number) + "]";
}

TEST_CASE("an exec event has the process; other and cut messages have none") {
  CHECK(exec_process(recorded()) == 0x4dd4);
  for (size_t size = 0; size < 60; ++size) CHECK_FALSE(exec_process(recorded(size)));
  std::vector<std::byte> other(recorded().begin(), recorded().end());
  other[36] = std::byte{1};  // a fork
  CHECK_FALSE(exec_process(other));
}

TEST_CASE("a process that starts a program is reported") {
  ExecEvents events;
  const core::Status started = events.start();
  if (::geteuid() != 0 || !in_host_namespace("pid", 0xEFFFFFFC) || !in_host_namespace("user", 0xEFFFFFFD)) {
    CHECK_FALSE(started.ok());  // in a container there are no events
    return;
  }
  REQUIRE_MESSAGE(started.ok(), started.error());
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/true", "true", nullptr);
    ::_exit(127);
  }
  std::vector<int32_t> processes;
  pollfd wanted{events.socket(), POLLIN, 0};
  while (std::find(processes.begin(), processes.end(), child) == processes.end()) {
    REQUIRE(::poll(&wanted, 1, 60'000) == 1);
    events.read(processes);
  }
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace atalaya::procfs
