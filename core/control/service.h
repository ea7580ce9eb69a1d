// SPDX-License-Identifier: Apache-2.0
// What the service manager hears of the agent: the protocol of sd_notify(3), one datagram a message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/files.h"

namespace atalaya::core::cli {

class ServiceManager {
 public:
  // Takes $NOTIFY_SOCKET and $WATCHDOG_USEC out of the environment, so that no child speaks for the agent. Before the first thread.
  ServiceManager();

  bool listens() const { return static_cast<bool>(socket_); }
  // How often it wants to hear that the agent is alive, halved for safety; 0 = it has no watchdog.
  int64_t watchdog_ns() const { return watchdog_ns_; }

  // Lines such as "READY=1". Any thread; a manager that cannot be reached is no reason to fail, one that is busy is waited for a
  // moment.
  void tell(std::string_view lines) const;
  // The sign of life; `status` is a line. Never waits: every second one may be lost.
  void alive(const std::string &status) const;
  // While it reloads the engine starts and stops components, which may take longer than the watchdog waits.
  void reloading() const;
  void reloaded(const std::string &status) const;

 private:
  std::string patience(int64_t times) const;
  void send(std::string_view lines, int flags) const;

  std::string address_;
  Descriptor socket_;
  int64_t watchdog_ns_ = 0;
};

}  // namespace atalaya::core::cli
