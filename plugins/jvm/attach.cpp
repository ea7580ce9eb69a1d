// SPDX-License-Identifier: Apache-2.0
#include "plugins/jvm/attach.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/util/files.h"
#include "core/util/now.h"

namespace atalaya::jvm {
namespace {

constexpr size_t kMaxAnswer = 64 << 10;
constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kLookAgain = 20 * kMilli;

std::string who(const Target &target) {
  return "the JVM " + std::to_string(target.pid);
}

// In the JVM's own /tmp, by the number that it knows itself by.
std::string path_of(const Target &target, std::string_view name) {
  return "/proc/" + std::to_string(target.pid) + "/root/tmp/" + std::string(name) + std::to_string(target.status.inner_pid);
}

bool is_socket_of(const std::string &path, uint32_t user) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode) && info.st_uid == user;
}

// Until the deadline. False: it has passed.
bool wait_for(int file, short what, int64_t deadline_ns) {
  const int64_t left = deadline_ns - core::monotonic();
  if (left <= 0) return false;
  pollfd wanted{file, what, 0};
  return ::poll(&wanted, 1, static_cast<int>(left / kMilli) + 1) > 0;
}

// It handles SIGQUIT, which else would end it, and runs: the signal would come when it is continued, and by then nobody waits.
bool takes_signal(const Target &target) {
  static constexpr uint64_t kQuit = uint64_t{1} << (SIGQUIT - 1);
  auto stat = core::read_file("/proc/" + std::to_string(target.pid) + "/stat", 4096);
  if (!stat || (target.status.caught & kQuit) == 0) return false;
  const size_t end = stat->rfind(") ");
  return end != std::string::npos && end + 2 < stat->size() && (*stat)[end + 2] != 'T' && (*stat)[end + 2] != 't';
}

// The file that tells a JVM what the signal means. Gone with this.
class Trigger {
 public:
  explicit Trigger(std::string path) : path_(std::move(path)) {
    static constexpr mode_t kForAll = 0644;
    file_ = core::Descriptor(::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, kForAll));
  }
  Trigger(const Trigger &) = delete;
  Trigger &operator=(const Trigger &) = delete;
  ~Trigger() {
    if (file_) ::unlink(path_.c_str());
  }
  explicit operator bool() const { return static_cast<bool>(file_) || errno == EEXIST; }

 private:
  std::string path_;
  core::Descriptor file_;
};

core::Status signal_it(const Target &target) {
  const core::Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, target.pid, 0)));
  const auto mark = symbols::read_mark(target.pid);
  if (!process || !mark || mark->start_ticks != target.start_ticks) return core::Error{who(target) + " has ended"};
  if (::syscall(SYS_pidfd_send_signal, process.get(), SIGQUIT, nullptr, 0) != 0)
    return core::Error{who(target) + " cannot be signalled: " + core::error_text(errno)};
  return core::Done{};
}

core::Status wake(const Target &target, const std::string &socket, int64_t deadline_ns) {
  if (!takes_signal(target)) return core::Error{who(target) + " is stopped, or does not listen to signals (-Xrs)"};
  const Trigger trigger(path_of(target, ".attach_pid"));
  if (!trigger) return core::Error{who(target) + ": no file can be made in its /tmp: " + core::error_text(errno)};
  if (auto sent = signal_it(target); !sent) return sent;
  while (!is_socket_of(socket, target.status.user)) {
    if (core::monotonic() > deadline_ns)
      return core::Error{who(target) + " opens no socket for commands (-XX:+DisableAttachMechanism?)"};
    const timespec pause{0, kLookAgain};
    ::nanosleep(&pause, nullptr);
  }
  return core::Done{};
}

core::Result<core::Descriptor> connect_to(const Target &target, const std::string &path, int64_t deadline_ns) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return core::Error{who(target) + ": the name of its socket is too long"};
  std::memcpy(address.sun_path, path.data(), path.size());
  core::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return core::Error{"no socket: " + core::error_text(errno)};
  while (::connect(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0) {
    if (errno != EAGAIN || core::monotonic() > deadline_ns)  // EAGAIN: others wait for it too
      return core::Error{who(target) + " cannot be reached: " + core::error_text(errno)};
    const timespec pause{0, kLookAgain};
    ::nanosleep(&pause, nullptr);
  }
  ucred peer{};
  socklen_t size = sizeof(peer);
  const bool known = ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  if (!known || peer.pid != target.pid) return core::Error{who(target) + ": another process has its socket"};
  return socket;
}

core::Result<std::string> talk(const Target &target, int socket, std::string_view request, int64_t deadline_ns) {
  const core::Error silent{who(target) + " does not answer"};
  if (!wait_for(socket, POLLOUT, deadline_ns)) return silent;
  if (::send(socket, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return core::Error{who(target) + " takes no command: " + core::error_text(errno)};
  std::string answer;
  std::array<char, 4096> buffer{};
  while (answer.size() < kMaxAnswer) {
    if (!wait_for(socket, POLLIN, deadline_ns)) return silent;
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got == 0) break;
    if (got < 0 && errno != EAGAIN && errno != EINTR) return core::Error{who(target) + ": " + core::error_text(errno)};
    answer.append(buffer.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
  }
  return answer;
}

}  // namespace

// Version, command and three arguments, each ended by a zero.
std::string request_bytes(std::string_view command) {
  std::string bytes("1\0jcmd\0", 7);
  bytes += command;
  bytes.append(3, '\0');
  return bytes;
}

core::Result<std::string> parse_answer(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return core::Error{"it answered nothing"};
  const std::string_view text = bytes.substr(end + 1);
  if (bytes.substr(0, end) == "0") return std::string(text);
  return core::Error{"it refused: " + std::string(text.substr(0, std::min<size_t>(text.find('\n'), 200)))};
}

core::Result<std::string> run_jcmd(const Target &target, std::string_view command, int64_t timeout_ns) {
  const int64_t deadline = core::monotonic() + timeout_ns;
  const std::string path = path_of(target, ".java_pid");
  if (!is_socket_of(path, target.status.user))
    if (auto awake = wake(target, path, deadline); !awake) return core::Error{awake.error()};
  auto socket = connect_to(target, path, deadline);
  if (!socket) return core::Error{socket.error()};
  auto answer = talk(target, socket->get(), request_bytes(command), deadline);
  if (!answer) return answer;
  auto text = parse_answer(*answer);
  if (!text) return core::Error{who(target) + ": " + text.error()};
  return text;
}

}  // namespace atalaya::jvm
