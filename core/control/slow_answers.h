// SPDX-License-Identifier: Apache-2.0
// One answer that takes long to make, for clients of a socket: on a thread of its own, which the first client starts.
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
  // Makes the answer; it returns at once when the descriptor becomes readable.
  using Make = std::function<std::string(int stop)>;
  explicit SlowAnswers(Make make);
  SlowAnswers(const SlowAnswers &) = delete;
  SlowAnswers &operator=(const SlowAnswers &) = delete;
  ~SlowAnswers();

  // Sends the answer and closes the connection. An answer is used for some seconds. Too many clients are turned away.
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
  std::string answer_;       // of the thread
  int64_t answered_at_ = 0;  // 0: never
  std::thread thread_;
};

}  // namespace atalaya::core
