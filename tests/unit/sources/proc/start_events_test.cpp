// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/procfs/start_events.h"

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
#include <thread>
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

// The recorded message with other numbers behind the event's time.
std::vector<std::byte> with(int32_t what, std::array<int32_t, 4> numbers) {
  std::vector<std::byte> message(recorded().begin(), recorded().end());
  std::memcpy(message.data() + 36, &what, sizeof(what));
  std::memcpy(message.data() + 52, numbers.data(), sizeof(numbers));
  return message;
}

TEST_CASE("an exec event has the process, a fork event its parent, too; threads, other and cut messages have none") {
  CHECK(start_event(recorded()) == StartEvent{.process = 0x4dd4});
  for (size_t size = 0; size < 60; ++size) CHECK_FALSE(start_event(recorded(size)));
  CHECK(start_event(with(1, {12, 11, 20, 20})) == StartEvent{.process = 20, .parent = 11});
  CHECK_FALSE(start_event(with(1, {12, 11, 13, 11})));
  CHECK_FALSE(start_event(with(1, {12, -1, 20, 20})));
  CHECK_FALSE(start_event(with(3, {12, 11, 20, 20})));
}

// Events of the child, up to its exec.
std::vector<StartEvent> events_of_a_child(StartEvents &events, pid_t &child) {
  child = ::fork();
  if (child == 0) {
    std::thread([] {}).join();
    ::execl("/bin/true", "true", nullptr);
    ::_exit(127);
  }
  std::vector<StartEvent> all;
  pollfd wanted{events.socket(), POLLIN, 0};
  while (std::find(all.begin(), all.end(), StartEvent{.process = child}) == all.end()) {
    REQUIRE(::poll(&wanted, 1, 60'000) == 1);
    events.read(all);
  }
  ::waitpid(child, nullptr, 0);
  std::erase_if(all, [&](const StartEvent &event) { return event.process != child && event.parent != child; });
  return all;
}

TEST_CASE("a process that starts a program is reported; its fork, too, if that is selected") {
  StartEvents events;
  const core::Status started = events.start(false);
  if (::geteuid() != 0 || !in_host_namespace("pid", 0xEFFFFFFC) || !in_host_namespace("user", 0xEFFFFFFD)) {
    CHECK_FALSE(started.ok());  // in a container there are no events
    return;
  }
  REQUIRE_MESSAGE(started.ok(), started.error());
  pid_t child = 0;
  const auto exec = events_of_a_child(events, child);
  CHECK(exec == std::vector{StartEvent{.process = child}});
  REQUIRE(events.start(true).ok());
  const auto both = events_of_a_child(events, child);
  CHECK(both == std::vector{StartEvent{.process = child, .parent = ::getpid()}, StartEvent{.process = child}});
}

}  // namespace
}  // namespace atalaya::procfs
