// SPDX-License-Identifier: Apache-2.0
// sleepers N: a host with N processes more that do nothing, until standard input ends. Says "ready" when they are all there.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

void end_all(const std::vector<pid_t> &children) {
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
}

[[noreturn]] void sleep_for_ever(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);  // it ended before the line above
  close(STDIN_FILENO);
  close(STDOUT_FILENO);
  for (;;) pause();
}

}  // namespace

int main(int argc, char **argv) {
  const int wanted = argc == 2 ? std::atoi(argv[1]) : 0;
  if (wanted <= 0) {
    std::fputs("usage: sleepers N\n", stderr);
    return 2;
  }
  const pid_t self = getpid();
  std::vector<pid_t> children;
  while (children.size() < static_cast<size_t>(wanted)) {
    const pid_t child = fork();
    if (child == 0) sleep_for_ever(self);
    if (child < 0) {
      std::fprintf(stderr, "sleepers: %zu processes, then fork: %s; raise ulimit -u, kernel.pid_max or the cgroup's pids.max\n",
                   children.size(), std::strerror(errno));
      end_all(children);
      return 1;
    }
    children.push_back(child);
  }
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  end_all(children);
  return 0;
}
