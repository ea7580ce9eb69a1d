// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "core/base/files.h"

namespace atalaya::http_client {

using Deadline = std::chrono::steady_clock::time_point;

// Shuts down sockets at their deadlines: the timeout of a single read or write restarts with each byte of a slow server, also in
// the TLS handshake and the headers.
class Deadlines {
 public:
  Deadlines() : thread_([this] { work(); }) {}
  Deadlines(const Deadlines &) = delete;
  Deadlines &operator=(const Deadlines &) = delete;
  ~Deadlines();

  // Watches the socket during the lifetime of this object. Uses a duplicate descriptor, so that the number stays valid if the
  // socket is closed first.
  class Guard {
   public:
    Guard(Deadlines &owner, int socket, Deadline deadline);
    Guard(const Guard &) = delete;
    Guard &operator=(const Guard &) = delete;
    ~Guard();

   private:
    Deadlines &owner_;
    core::Descriptor socket_;
    std::multimap<Deadline, int>::iterator entry_;
  };

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Deadline, int> watched_;
  bool ending_ = false;
  std::thread thread_;  // last: it uses the other members
};

}  // namespace atalaya::http_client
