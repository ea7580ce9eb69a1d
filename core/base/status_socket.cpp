// SPDX-License-Identifier: Apache-2.0
#include "core/base/status_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/files.h"
#include "core/base/log.h"

namespace atalaya::core {
namespace {

constexpr size_t kMaxStatus = size_t{64} << 20;
constexpr const char *kCheckAgent =
    "; check that an agent is running (atalaya run FILE, or systemctl status atalaya), and see --socket "
    "(service: /run/atalaya/status.sock)";

Result<std::string> ask(const std::string &path, std::string_view request, int patience_ms) {
  // If other users can write to the folder, any of them could answer.
  if (const Status own = check_assigned_folder(folder_of(path)); !own)
    return Error{"no agent answers: " + own.error() + kCheckAgent};
  auto socket = connect_unix(path);
  if (!socket) return Error{"no agent answers at " + socket.error() + kCheckAgent};
  if (!send_all(socket->get(), request)) return Error{path + ": the agent does not accept the request"};
  std::string text;
  char buffer[16384];
  for (;;) {
    if (!ready(socket->get(), POLLIN, patience_ms)) return Error{path + ": the agent does not answer"};
    const ssize_t size = ::read(socket->get(), buffer, sizeof(buffer));
    if (size < 0) return Error{path + ": " + error_text(errno)};
    if (size == 0 && (text.empty() || text.back() != '\n')) return Error{path + ": the answer of the agent is incomplete"};
    if (size == 0) return text;
    text.append(buffer, static_cast<size_t>(size));
    if (text.size() > kMaxStatus) return Error{path + ": the answer is too large for a status"};
  }
}

}  // namespace

Result<sockaddr_un> unix_address(const std::string &path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return Error{path + ": too long for a Unix socket"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<Descriptor> connect_unix(const std::string &path) {
  auto address = unix_address(path);
  if (!address) return Error{address.error()};
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return Error{"socket: " + error_text(errno)};
  if (::connect(socket.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof(sockaddr_un)) != 0)
    return Error{path + ": " + error_text(errno)};
  return socket;
}

bool ready(int fd, short events, int timeout_ms) {
  pollfd wait{fd, events, 0};
  return ::poll(&wait, 1, timeout_ms) > 0;
}

bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    if (!ready(fd, POLLOUT, kStatusTimeoutMs)) return false;
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string default_status_socket() {
  return runtime_folder() + "/status.sock";
}

Result<std::string> ask_status(const std::string &path, bool json) {
  return ask(path, json ? "json\n" : "table\n", kStatusTimeoutMs);
}

Result<std::string> ask_doctor(const std::string &path) {
  return ask(path, "doctor\n", kDoctorTimeoutMs + kStatusTimeoutMs);
}

}  // namespace atalaya::core
