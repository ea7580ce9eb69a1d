// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/launcher/launcher.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/isolation/launcher/capabilities.h"
#include "core/isolation/launcher/launcher_messages.h"

extern char **environ;  // NOLINT(readability-redundant-declaration): not every libc has it in a header

namespace atalaya::core {
namespace {

constexpr int kReportTimeoutMs = 1000;   // for the launcher's report of an exit
constexpr int kStartTimeoutMs = 10'000;  // for the start of a child

std::string ended_text() {
  return "the launcher of isolated plugins is gone; those that run go on, none can be started until atalaya is started again";
}

bool readable(int fd, int patience_ms) {
  pollfd wait{fd, POLLIN, 0};
  return ::poll(&wait, 1, patience_ms) > 0;
}

}  // namespace

Launcher::~Launcher() {
  end();
}

Status Launcher::start() {
  const std::lock_guard lock(mutex_);
  return start_locked();
}

Status Launcher::start_locked() {
  if (pid_ > 0) return Done{};
  int pair[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return Error{"launcher: socketpair: " + error_text(errno)};
  socket_ = Descriptor(pair[0]);
  const Descriptor theirs(pair[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), kLauncherFd);
  const char *words[] = {"atalaya", kLauncherCommand, nullptr};
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, const_cast<char **>(words), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return Error{"launcher: " + error_text(failed)};
  pid_ = pid;
  capabilities_ = permitted_capabilities();
  return Done{};
}

void Launcher::end() {
  const std::lock_guard lock(mutex_);
  socket_.reset();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

Result<StartedChild> Launcher::spawn(const ChildOrder &order) {
  const std::lock_guard lock(mutex_);
  if (const Status started = start_locked(); !started) return Error{started.error()};
  return request(order);
}

Result<StartedChild> Launcher::request(const ChildOrder &order) const {
  int pair[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return Error{"socketpair: " + error_text(errno)};
  StartedChild child;
  child.lifeline = Descriptor(pair[0]);
  const Descriptor theirs(pair[1]);
  const LaunchMessage message{order.capabilities, order.memory_bytes};
  const std::array<int, kLaunchFds> fds = {order.control, order.batches, order.requests, order.notices, theirs.get()};
  if (!send_with_fds(socket_.get(), &message, sizeof(message), fds.data(), fds.size())) return Error{ended_text()};
  if (!readable(child.lifeline.get(), kStartTimeoutMs)) return Error{"the launcher of isolated plugins does not answer"};
  ChildMessage report{};
  int process = -1;
  size_t count = 1;
  if (receive_with_fds(child.lifeline.get(), &report, sizeof(report), &process, count) != sizeof(report))
    return Error{ended_text()};
  child.pidfd = Descriptor(count == 1 ? process : -1);
  if (report.what != ChildMessage::kStarted || !child.pidfd)
    return Error{"a process cannot be started: " + error_text(report.value)};
  child.pid = report.value;
  return child;
}

Exit exit_of(const StartedChild &child) {
  ChildMessage report{};
  size_t count = 0;
  if (!readable(child.lifeline.get(), kReportTimeoutMs) ||
      receive_with_fds(child.lifeline.get(), &report, sizeof(report), nullptr, count) != sizeof(report))
    return {};
  if (report.what == ChildMessage::kKilled) return {true, report.value, 0};
  return {report.what == ChildMessage::kEnded, 0, report.value};
}

int isolation_main(int argc, char **argv) {
  if (argc != 2) return -1;
  const std::string_view command = argv[1];
  return command == kLauncherCommand ? launcher_main() : command == kChildCommand ? child_main() : -1;
}

}  // namespace atalaya::core
