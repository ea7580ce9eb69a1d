// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/experiment/child.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atalaya/plugin.hpp>
#include <cerrno>

#include "core/base/files.h"

namespace atalaya::experiment_command {

Child::Child() {
  sigemptyset(&forwarded_signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&forwarded_signals_, signal);
  ::signal(SIGCHLD, SIG_DFL);  // the parent process may ignore it; then waitpid fails
  pthread_sigmask(SIG_BLOCK, &forwarded_signals_, &previous_mask_);
}

Child::~Child() {
  pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
}

void Child::start(const std::vector<std::string> &words) {
  std::vector<char *> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string &word : words) arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  // The child gets default handling of the signals that this process blocks or ignores.
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&defaults, signal);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, words[0].c_str(), nullptr, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw Failure(Code::permanent, words[0] + ": cannot run: " + core::error_text(error));
  pid_ = pid;
}

int Child::wait() {
  int status = 0;
  for (pid_t ended = 0; ended == 0;) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&forwarded_signals_, &info);
    // Signals of the terminal are not forwarded: the child gets them too.
    const bool of_terminal = info.si_code == SI_KERNEL;
    if (signal > 0 && signal != SIGCHLD && !of_terminal) ::kill(pid_, signal);
    ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended < 0) throw Failure(Code::permanent, "cannot wait for the command: " + core::error_text(errno));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace atalaya::experiment_command
