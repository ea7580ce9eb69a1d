// SPDX-License-Identifier: Apache-2.0
#include "plugins/filters/recorder/trigger_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/files.h"
#include "core/base/status_socket.h"
#include "core/base/text/text.h"

namespace atalaya::recorder {
namespace {

constexpr std::string_view kRequest = "record ", kAnswer = "recording ";
constexpr std::string_view kBegin = "recorder-", kEnd = ".sock";
constexpr int kMaxRequests = 100;

// Reads a number that ends at a blank or at the end of the text.
bool parse_number(std::string_view &text, int64_t &number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(result.ptr - text.data()));
  return text.empty() || core::skip_prefix(text, " ");
}

core::Result<core::Descriptor> connected(const std::string &path) {
  auto address = core::unix_address(path);
  if (!address) return core::Error{address.error()};
  core::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return core::Error{"socket: " + core::error_text(errno)};
  if (::connect(socket.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof(sockaddr_un)) != 0)
    return core::Error{path + ": " + core::error_text(errno)};
  return socket;
}

}  // namespace

// Format: record LAST USER CAUSE; LAST is -1 for all stored windows.
std::string request_text(const Request &request) {
  std::string text(kRequest);
  text += std::to_string(request.last_ns.value_or(-1)) + (request.is_user ? " 1 " : " 0 ") + request.cause;
  return text.substr(0, kMaxRequest);
}

std::optional<Request> parse_request(std::string_view text) {
  Request request;
  int64_t last_ns = 0, is_user = 0;
  if (text.size() > kMaxRequest || !core::skip_prefix(text, kRequest) || !parse_number(text, last_ns) ||
      !parse_number(text, is_user))
    return std::nullopt;
  if (last_ns >= 0) request.last_ns = last_ns;
  request.is_user = is_user != 0;
  request.cause = text;
  return request;
}

std::string answer_text(const Answer &answer) {
  return std::string(kAnswer) + std::to_string(answer.from_ns) + " " + std::to_string(answer.until_ns);
}

std::optional<Answer> parse_answer(std::string_view text) {
  Answer answer;
  if (!core::skip_prefix(text, kAnswer) || !parse_number(text, answer.from_ns) || !parse_number(text, answer.until_ns) ||
      !text.empty())
    return std::nullopt;
  return answer;
}

std::string socket_path(const std::string &folder, const std::string &name) {
  return folder + "/" + std::string(kBegin) + name + std::string(kEnd);
}

std::vector<RecorderSocket> find_recorders(const std::string &folder) {
  std::vector<RecorderSocket> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() <= kBegin.size() + kEnd.size()) continue;
    found.push_back({name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size()), at->path()});
  }
  std::sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  return found;
}

core::Status TriggerServer::open(const std::string &path) {
  close();
  if (const core::Status made = core::make_folders(core::folder_of(path)); !made) return core::Error{made.error()};
  auto address = core::unix_address(path);
  if (!address) return core::Error{address.error()};
  if (connected(path)) return core::Error{path + ": another recorder has this name; set the parameter name"};
  ::unlink(path.c_str());  // a socket left by a killed agent
  core::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Write permission on the socket is permission to start a recording: only this user and root have it.
  if (!socket || ::fchmod(socket.get(), 0600) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof(sockaddr_un)) != 0)
    return core::Error{path + ": " + core::error_text(errno)};
  socket_ = std::move(socket);
  path_ = path;
  return core::Done{};
}

void TriggerServer::close() {
  if (socket_) ::unlink(path_.c_str());
  socket_.reset();
}

void TriggerServer::serve(const std::function<Answer(const Request &)> &take) const {
  std::array<char, kMaxRequest + 1> buffer{};
  for (int i = 0; i < kMaxRequests && socket_; ++i) {
    sockaddr_un from{};
    socklen_t length = sizeof(from);
    const ssize_t size =
        ::recvfrom(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr *>(&from), &length);
    if (size < 0) return;
    const auto request = parse_request({buffer.data(), static_cast<size_t>(size)});
    if (!request) continue;
    const std::string text = answer_text(take(*request));
    if (length <= sizeof(sa_family_t)) continue;  // the sender has no address: it does not wait for an answer
    (void)::sendto(socket_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr *>(&from),
                   length);
  }
}

core::Result<Answer> send_request(const std::string &path, const Request &request, int timeout_ms) {
  auto socket = connected(path);
  if (!socket) return core::Error{socket.error()};
  if (timeout_ms > 0) {  // binds to an address that the kernel chooses, for the answer
    sockaddr_un any{};
    any.sun_family = AF_UNIX;
    if (::bind(socket->get(), reinterpret_cast<const sockaddr *>(&any), sizeof(sa_family_t)) != 0)
      return core::Error{"socket: " + core::error_text(errno)};
  }
  const std::string text = request_text(request);
  if (::send(socket->get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
    return core::Error{path + ": " + core::error_text(errno)};
  if (timeout_ms == 0) return Answer{};
  if (!core::ready(socket->get(), POLLIN, timeout_ms)) return core::Error{path + ": the recorder does not answer"};
  std::array<char, 256> buffer{};
  const ssize_t size = ::recv(socket->get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  const auto answer = size < 0 ? std::nullopt : parse_answer({buffer.data(), static_cast<size_t>(size)});
  if (!answer) return core::Error{path + ": the answer is no answer of a recorder"};
  return *answer;
}

}  // namespace atalaya::recorder
