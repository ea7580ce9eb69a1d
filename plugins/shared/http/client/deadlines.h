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

// Ends the use of sockets at their deadlines by shutting them down: the timeout of a single read or write begins anew with each
// byte that a slow server sends, in the TLS handshake and the headers too.
class Deadlines {
 public:
  Deadlines() : thread_([this] { work(); }) {}
  Deadlines(const Deadlines &) = delete;
  Deadlines &operator=(const Deadlines &) = delete;
  ~Deadlines();

  // Watches the socket for its own lifetime. The socket may be closed before: what is watched is a second descriptor of it, so that
  // its number cannot become that of another one.
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
  std::thread thread_;  // last: it uses the others
};

}  // namespace atalaya::http_client
