// SPDX-License-Identifier: Apache-2.0
#include "core/control/service.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>

#include "core/base/text/text.h"
#include "core/pipeline/clock.h"

namespace atalaya::core::cli {
namespace {

constexpr int64_t kReloadTimeouts = 10;  // timeouts of the watchdog that a reload may take

std::string take_variable(const char *name) {
  const char *value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  ::unsetenv(name);
  return text;
}

// "/run/systemd/notify", or "@..." for an abstract one.
bool fill_address(const std::string &path, sockaddr_un &address, socklen_t &size) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.size() < 2 || path.size() >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@')) return false;
  std::copy(path.begin(), path.end(), static_cast<char *>(address.sun_path));
  if (path[0] == '@') address.sun_path[0] = '\0';
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  return true;
}

}  // namespace

ServiceManager::ServiceManager() : address_(take_variable("NOTIFY_SOCKET")) {
  const auto interval = number_from<int64_t>(take_variable("WATCHDOG_USEC"));
  const auto pid = number_from<int64_t>(take_variable("WATCHDOG_PID"));
  if (address_.empty()) return;
  socket_ = Descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const timeval moment{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof(moment));
  if (interval && *interval > 0 && (!pid || *pid == ::getpid())) watchdog_ns_ = *interval * 1000 / 2;
}

void ServiceManager::send(std::string_view lines, int flags) const {
  sockaddr_un address;
  socklen_t size = 0;
  if (!socket_ || !fill_address(address_, address, size)) return;
  ::sendto(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL | flags, reinterpret_cast<const sockaddr *>(&address), size);
}

void ServiceManager::notify(std::string_view lines) const {
  send(lines, 0);
}

void ServiceManager::alive(const std::string &status) const {
  send("WATCHDOG=1\nSTATUS=" + status, MSG_DONTWAIT);
}

void ServiceManager::reloading() const {
  notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(read_clocks().monotonic / 1000) + extended_timeout(kReloadTimeouts));
}

void ServiceManager::reloaded(const std::string &status) const {
  notify("READY=1\nSTATUS=" + status + extended_timeout(1));
}

std::string ServiceManager::extended_timeout(int64_t times) const {
  return watchdog_ns_ == 0 ? "" : "\nWATCHDOG_USEC=" + std::to_string(watchdog_ns_ / 1000 * 2 * times);
}

}  // namespace atalaya::core::cli
