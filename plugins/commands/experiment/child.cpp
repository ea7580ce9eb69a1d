// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/experiment/child.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atalaya/plugin.hpp>
#include <cerrno>

#include "core/util/files.h"

namespace atalaya::experiment_command {

void Child::start(const std::vector<std::string> &words) {
  std::vector<char *> arguments;
  for (const std::string &word : words) arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  // It gets the signals that this process blocks or ignores, as if it were run without us.
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGUSR2}) sigaddset(&defaults, signal);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, words[0].c_str(), nullptr, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw Failure(Code::permanent, words[0] + " cannot be run: " + core::error_text(error));
  pid_ = pid;
}

int Child::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0)
    if (errno != EINTR) throw Failure(Code::permanent, "the command was lost: " + core::error_text(errno));
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Child::interrupt() noexcept {
  // What a terminal interrupts is interrupted already, and may take its time; a TERM to us alone is for it, too.
  if (const pid_t pid = pid_; pid > 0) ::kill(pid, SIGTERM);
}

}  // namespace atalaya::experiment_command
