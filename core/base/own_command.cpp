// SPDX-License-Identifier: Apache-2.0
#include "core/base/own_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/files.h"
#include "core/base/now.h"

namespace atalaya::core {
namespace {

constexpr size_t kMaxOutput = size_t{16} << 20;
constexpr int kLowPriority = 10;

// Attributes and file actions of a process that is spawned.
class Order {
 public:
  // -1: /dev/null.
  Order(int output, int errors) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    connect(output, STDOUT_FILENO);
    connect(errors, STDERR_FILENO);
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

  Result<pid_t> spawn(std::vector<std::string> words) const {
    words.insert(words.begin(), "atalaya");
    std::vector<char *> arguments;
    for (std::string &word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = 0;
    if (const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions_, &attributes_, arguments.data(), environ); error != 0)
      return Error{"cannot run it: " + error_text(error)};
    return pid;
  }

 private:
  void connect(int from, int to) {
    if (from < 0)
      posix_spawn_file_actions_addopen(&actions_, to, "/dev/null", O_WRONLY, 0);
    else
      posix_spawn_file_actions_adddup2(&actions_, from, to);
  }

  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

struct Pipe {
  Descriptor from, to;

  Status open() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return Error{"pipe: " + error_text(errno)};
    from = Descriptor(ends[0]);
    to = Descriptor(ends[1]);
    return Done{};
  }
};

Result<std::string> read_until_end(int from, int stop, int64_t until) {
  std::string text;
  char buffer[16384];
  for (;;) {
    const int64_t left = until - monotonic();
    if (left <= 0) return Error{std::string(kTooLong)};
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

struct Ended {
  std::string text;
  int exit_status = 0;
};

// Reads the text that the process writes to the pipe until its end. Ends a process that exceeds the time or the size limit.
Result<Ended> wait_for(pid_t pid, Pipe &pipe, int64_t limit_ns, int stop) {
  pipe.to.reset();
  auto text = read_until_end(pipe.from.get(), stop, monotonic() + limit_ns);
  if (!text) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text) return Error{text.error()};
  if (!WIFEXITED(status)) return Error{std::string(kEndedBySignal) + std::to_string(WTERMSIG(status))};
  return Ended{std::move(*text), WEXITSTATUS(status)};
}

}  // namespace

Result<std::string> output_of_own_command(std::vector<std::string> words, int64_t limit_ns, int stop) {
  Pipe output;
  if (const Status opened = output.open(); !opened) return Error{opened.error()};
  const auto pid = Order(output.to.get(), -1).spawn(std::move(words));
  if (!pid) return Error{pid.error()};
  auto ended = wait_for(pid.value(), output, limit_ns, stop);
  if (!ended) return Error{ended.error()};
  return std::move(ended->text);
}

Status run_own_command(int file, std::vector<std::string> words, int64_t limit_ns, int stop) {
  Pipe errors;
  if (Status opened = errors.open(); !opened) return opened;
  const auto pid = Order(file, errors.to.get()).spawn(std::move(words));
  if (!pid) return Error{pid.error()};
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(pid.value()), kLowPriority);
  auto ended = wait_for(pid.value(), errors, limit_ns, stop);
  if (!ended) return Error{ended.error()};
  std::string &text = ended->text;
  while (text.ends_with('\n')) text.pop_back();
  if (ended->exit_status == 0) return Done{};
  return Error{text.empty() ? "it fails without a message" : std::move(text)};
}

}  // namespace atalaya::core
