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

// A thread that shuts down sockets at their deadlines. Socket timeouts are not enough: they restart with each byte of a slow
// server, also in the TLS handshake and the headers.
class Deadlines {
 public:
  Deadlines() : thread_([this] { run(); }) {}
  Deadlines(const Deadlines &) = delete;
  Deadlines &operator=(const Deadlines &) = delete;
  ~Deadlines();

  // A scope in which the socket has a deadline. Duplicates the descriptor, so that its number remains valid if the socket is
  // closed first.
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
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Deadline, int> watched_;
  bool ending_ = false;
  std::thread thread_;  // declared last, because it uses the other members
};

}  // namespace atalaya::http_client
