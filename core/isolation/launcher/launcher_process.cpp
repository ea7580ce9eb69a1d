// SPDX-License-Identifier: Apache-2.0
// The launcher process: one loop that starts children on request, reaps ended ones, kills those whose lifeline is closed.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "core/base/now.h"
#include "core/isolation/call.h"
#include "core/isolation/child_errors.h"
#include "core/isolation/launcher/capabilities.h"
#include "core/isolation/launcher/launcher.h"
#include "core/isolation/launcher/launcher_messages.h"

namespace atalaya::core {
namespace {

constexpr int kFirstChildFd = kControlFd;
constexpr int kChildFds = 4;

struct Kept {
  pid_t pid;
  Descriptor lifeline;
  ChildErrors errors;
  bool released = false;  // the agent has closed the lifeline and does not wait for the exit
};

void limit(__rlimit_resource what, rlim_t value) {
  const rlimit both{value, value};
  ::setrlimit(what, &both);
}

// In the forked process: limits and capabilities, then the program. Never returns.
[[noreturn]] void become_child(const LaunchMessage &message, const std::array<int, kLaunchFds> &fds, int errors) {
  if (errors >= 0) ::dup2(errors, STDERR_FILENO);
  ::setsid();  // its own group: its children can be killed with it, and the terminal's signals do not reach it
  // First moves the descriptors to high numbers: one may have a number that another one needs.
  std::array<int, kChildFds> moved{};
  for (size_t i = 0; i < moved.size(); ++i) moved[i] = ::fcntl(fds[i], F_DUPFD, 64);
  for (size_t i = 0; i < moved.size(); ++i) ::dup2(moved[i], kFirstChildFd + static_cast<int>(i));
  ::syscall(SYS_close_range, kFirstChildFd + kChildFds, ~0U, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which map terabytes
  if (message.memory_bytes > 0) limit(RLIMIT_DATA, static_cast<rlim_t>(message.memory_bytes));
#endif
  limit(RLIMIT_CORE, 0);
  if (!keep_capabilities(message.capabilities)) ::_exit(126);
  sigset_t deaths;
  ::sigemptyset(&deaths);
  ::sigaddset(&deaths, SIGCHLD);
  ::sigprocmask(SIG_UNBLOCK, &deaths, nullptr);
  const char *words[] = {"atalaya", kChildCommand, nullptr};
  ::execve("/proc/self/exe", const_cast<char **>(words), environ);
  ::_exit(127);
}

class LauncherProcess {
 public:
  int run() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    const Descriptor deaths(::signalfd(-1, &set, SFD_CLOEXEC));
    for (;;) {
      std::vector<pollfd> wait = {{kLauncherFd, POLLIN, 0}, {deaths.get(), POLLIN, 0}};
      for (const Kept &child : children_) wait.push_back({child.released ? -1 : child.lifeline.get(), 0, 0});
      for (const Kept &child : children_) wait.push_back({child.errors.fd(), POLLIN, 0});
      if (::poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) return 1;
      if (wait[1].revents != 0) {
        signalfd_siginfo ignored{};
        static_cast<void>(::read(deaths.get(), &ignored, sizeof(ignored)) < 0);
      }
      for (size_t i = 0; i < children_.size(); ++i) {
        if (wait[i + 2].revents != 0) released(children_[i]);
        if (wait[i + 2 + children_.size()].revents != 0) children_[i].errors.forward(monotonic());
      }
      if (wait[1].revents != 0) reap();
      if (wait[0].revents != 0 && !birth()) return end();
    }
  }

 private:
  // False if the agent has ended.
  bool birth() {
    LaunchMessage message{};
    std::array<int, kLaunchFds> fds{};
    size_t count = fds.size();
    if (receive_with_fds(kLauncherFd, &message, sizeof(message), fds.data(), count) <= 0) return false;
    std::array<Descriptor, kLaunchFds> own;
    for (size_t i = 0; i < count; ++i) own[i] = Descriptor(fds[i]);
    if (count != fds.size()) return true;
    Descriptor &lifeline = own.back();
    std::array<int, 2> ends{-1, -1};
    static_cast<void>(::pipe2(ends.data(), O_CLOEXEC));  // without it, the child has the agent's standard error
    Descriptor errors(ends[0]), theirs(ends[1]);
    if (errors) ::fcntl(errors.get(), F_SETFL, O_NONBLOCK);
    const pid_t pid = ::fork();
    if (pid == 0) become_child(message, fds, theirs.get());
    const Descriptor process(pid < 0 ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process) {
      const ChildMessage report{ChildMessage::kFailed, errno};
      if (pid > 0) ::kill(pid, SIGKILL);
      send_with_fds(lifeline.get(), &report, sizeof(report), nullptr, 0);
      return true;
    }
    const int fd = process.get();
    const ChildMessage report{ChildMessage::kStarted, pid};
    send_with_fds(lifeline.get(), &report, sizeof(report), &fd, 1);
    children_.push_back({pid, std::move(lifeline), ChildErrors(std::move(errors), pid)});
    return true;
  }

  static void released(Kept &child) {
    child.released = true;
    kill_group(child.pid);
  }
  static void kill_group(pid_t pid) {
    ::kill(pid, SIGKILL);
    ::kill(-pid, SIGKILL);
  }

  // Children that have ended; their own children are killed with them. Others that come to us have lost their parents: a plugin
  // leaves nothing behind.
  void reap() {
    for (;;) {
      siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) break;
      const auto child =
          std::find_if(children_.begin(), children_.end(), [&](const Kept &kept) { return kept.pid == info.si_pid; });
      if (child != children_.end()) {
        kill_group(info.si_pid);
        child->errors.end(monotonic());
        const bool killed = info.si_code != CLD_EXITED;
        const ChildMessage report{killed ? ChildMessage::kKilled : ChildMessage::kEnded, info.si_status};
        send_with_fds(child->lifeline.get(), &report, sizeof(report), nullptr, 0);
        children_.erase(child);
      }
      ::waitpid(info.si_pid, nullptr, WNOHANG);
    }
    for (const pid_t stray : own_children())
      if (std::none_of(children_.begin(), children_.end(), [stray](const Kept &kept) { return kept.pid == stray; }))
        ::kill(stray, SIGKILL);
  }

  // Needs CONFIG_PROC_CHILDREN; without it strays live on until the service ends.
  static std::vector<pid_t> own_children() {
    std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
    std::vector<pid_t> pids;
    for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
    return pids;
  }

  // Leaves no process behind: those that left the group of their child come to us, the subreaper, when their parent ends.
  int end() {
    constexpr int64_t kPatience_ns = 2'000'000'000;  // a process in uninterruptible sleep ends later
    constexpr timespec kBetween{0, 10'000'000};
    for (Kept &child : children_) kill_group(child.pid);
    for (Kept &child : children_) child.errors.end(monotonic());
    sigset_t deaths;
    ::sigemptyset(&deaths);
    ::sigaddset(&deaths, SIGCHLD);
    for (const int64_t begin = monotonic(); monotonic() - begin < kPatience_ns;) {
      for (const pid_t pid : own_children()) ::kill(pid, SIGKILL);
      const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
      if (ended < 0) break;
      if (ended == 0) ::sigtimedwait(&deaths, nullptr, &kBetween);
    }
    return 0;
  }

  std::vector<Kept> children_;
};

}  // namespace

int launcher_main() {
  ::prctl(PR_SET_NAME, "atalaya-launch");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_DUMPABLE, 0);
  // Ignores signals: only the agent ends the launcher, so that the agent can deliver its queues first.
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  ::syscall(SYS_close_range, kLauncherFd + 1, ~0U, 0);
  ::fcntl(kLauncherFd, F_SETFD, FD_CLOEXEC);
  return LauncherProcess().run();
}

}  // namespace atalaya::core
