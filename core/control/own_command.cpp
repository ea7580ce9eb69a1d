// SPDX-License-Identifier: Apache-2.0
#include "core/control/own_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/files.h"
#include "core/pipeline/clock.h"

namespace atalaya::core {
namespace {

constexpr size_t kMaxOutput = size_t{16} << 20;

// Attributes and file actions of a process that is spawned.
class Order {
 public:
  explicit Order(int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // The agent blocks and ignores signals that the command handles.
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
  }
  Order(const Order &) = delete;
  Order &operator=(const Order &) = delete;
  ~Order() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }

  int spawn(pid_t &pid, std::vector<char *> &arguments) const {
    return ::posix_spawn(&pid, "/proc/self/exe", &actions_, &attributes_, arguments.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

Result<std::string> read_until_end(int from, int stop, int64_t until) {
  std::string text;
  char buffer[16384];
  for (;;) {
    const int64_t left = until - read_clocks().monotonic;
    if (left <= 0) return Error{"it takes too long"};
    pollfd wait[2] = {{from, POLLIN, 0}, {stop, POLLIN, 0}};
    const int count = ::poll(wait, 2, static_cast<int>(left / 1'000'000 + 1));
    if (count < 0 && errno != EINTR) return Error{error_text(errno)};
    if (count <= 0) continue;
    if (wait[1].revents != 0) return Error{"the agent stops"};
    const ssize_t size = ::read(from, buffer, sizeof(buffer));
    if (size < 0) return Error{error_text(errno)};
    if (size == 0) return text;
    text.append(buffer, static_cast<size_t>(size));
    if (text.size() > kMaxOutput) return Error{"its output is too large"};
  }
}

}  // namespace

Result<std::string> output_of_own_command(std::vector<std::string> words, int64_t limit_ns, int stop) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error{"pipe: " + error_text(errno)};
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  words.insert(words.begin(), "atalaya");
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  if (const int error = Order(to.get()).spawn(pid, arguments); error != 0) return Error{"cannot run it: " + error_text(error)};
  to.reset();
  auto text = read_until_end(from.get(), stop, read_clocks().monotonic + limit_ns);
  if (!text) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (text && !WIFEXITED(status)) return Error{"it was ended by signal " + std::to_string(WTERMSIG(status))};
  return text;
}

}  // namespace atalaya::core
