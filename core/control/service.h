// SPDX-License-Identifier: Apache-2.0
// Messages to the service manager: the protocol of sd_notify(3), one datagram per message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/files.h"

namespace atalaya::core::cli {

class ServiceManager {
 public:
  // Removes $NOTIFY_SOCKET and $WATCHDOG_USEC from the environment, so that no child inherits them. Call it before the first
  // thread.
  ServiceManager();

  bool present() const { return static_cast<bool>(socket_); }
  // Interval of `alive` calls, half of the watchdog's timeout; 0: no watchdog.
  int64_t watchdog_ns() const { return watchdog_ns_; }

  // Sends lines such as "READY=1". Any thread. Ignores errors; waits at most 2 s for a busy manager.
  void notify(std::string_view lines) const;
  // Sends the watchdog's keep-alive message with a status line. Does not wait: every second message may be lost.
  void alive(const std::string &status) const;
  // Extends the watchdog's timeout for a reload, which starts and stops components.
  void reloading() const;
  void reloaded(const std::string &status) const;

 private:
  std::string extended_timeout(int64_t times) const;
  void send(std::string_view lines, int flags) const;

  std::string address_;
  Descriptor socket_;
  int64_t watchdog_ns_ = 0;
};

}  // namespace atalaya::core::cli
