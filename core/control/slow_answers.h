// SPDX-License-Identifier: Apache-2.0
// Sends one slowly computed answer to clients of a socket, on a separate thread that the first client starts.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/base/files.h"

namespace atalaya::core {

class SlowAnswers {
 public:
  // Computes the answer; must return when the descriptor `stop` becomes readable.
  using Make = std::function<std::string(int stop)>;
  explicit SlowAnswers(Make make);
  SlowAnswers(const SlowAnswers &) = delete;
  SlowAnswers &operator=(const SlowAnswers &) = delete;
  ~SlowAnswers();

  // Sends the answer to a client, then closes the connection. An answer is reused for a few seconds. If too many clients wait, the
  // connection is closed without an answer.
  void add(Descriptor client);

 private:
  bool start();
  void serve();

  const Make make_;
  Descriptor stop_read_, stop_write_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Descriptor> waiting_;
  bool stopping_ = false;
  // Used only by the thread.
  std::string answer_;
  int64_t answered_at_ = 0;  // CLOCK_MONOTONIC time of answer_; 0: never
  std::thread thread_;
};

}  // namespace atalaya::core
