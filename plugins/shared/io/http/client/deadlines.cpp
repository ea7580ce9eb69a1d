// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/client/deadlines.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace atalaya::http_client {

Deadlines::~Deadlines() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Deadlines::Guard::Guard(Deadlines &owner, int socket, Deadline deadline)
    : owner_(owner), socket_(::fcntl(socket, F_DUPFD_CLOEXEC, 0)) {
  if (!socket_) throw std::system_error(errno, std::generic_category(), "cannot watch a socket");
  bool first = false;
  {
    const std::lock_guard lock(owner_.mutex_);
    entry_ = owner_.watched_.emplace(deadline, socket_.get());
    first = entry_ == owner_.watched_.begin();
  }
  if (first) owner_.changed_.notify_all();
}

Deadlines::Guard::~Guard() {
  const std::lock_guard lock(owner_.mutex_);
  owner_.watched_.erase(entry_);
}

void Deadlines::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const Deadline now = std::chrono::steady_clock::now();
    // The shutdown is repeated later while the entry exists: only its guard removes it.
    static constexpr auto kAgain = std::chrono::seconds(1);
    auto next = Deadline::max();
    for (const auto &[deadline, socket] : watched_) {
      if (deadline > now) {
        next = std::min(next, deadline);
        break;
      }
      ::shutdown(socket, SHUT_RDWR);
      next = now + kAgain;
    }
    if (next == Deadline::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, next);
    }
  }
}

}  // namespace atalaya::http_client
