// SPDX-License-Identifier: Apache-2.0
#include "core/control/slow_answers.h"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "core/base/status_socket.h"
#include "core/pipeline/clock.h"

namespace atalaya::core {
namespace {

constexpr size_t kMaxWaiting = 16;
constexpr int64_t kFresh = 10'000'000'000;

}  // namespace

SlowAnswers::SlowAnswers(Make make) : make_(std::move(make)) {
  int stop[2] = {-1, -1};
  if (::pipe2(stop, O_CLOEXEC) != 0) return;  // clients are turned away
  stop_read_ = Descriptor(stop[0]);
  stop_write_ = Descriptor(stop[1]);
}

SlowAnswers::~SlowAnswers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    stop_write_.reset();  // the reader sees the hang-up
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// False: the limit of threads is reached.
bool SlowAnswers::start() {
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error &) {
    return false;
  }
  return true;
}

void SlowAnswers::add(Descriptor client) {
  const std::lock_guard lock(mutex_);
  if (!stop_read_ || waiting_.size() >= kMaxWaiting) return;
  waiting_.push_back(std::move(client));
  if (!thread_.joinable() && !start()) waiting_.clear();  // turned away
  changed_.notify_all();
}

void SlowAnswers::serve() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    lock.unlock();
    if (answered_at_ == 0 || read_clocks().monotonic - answered_at_ > kFresh) {
      answer_ = make_(stop_read_.get());
      answered_at_ = read_clocks().monotonic;
    }
    lock.lock();
    const std::deque<Descriptor> clients = std::exchange(waiting_, {});
    lock.unlock();
    for (const Descriptor &client : clients) send_all(client.get(), answer_);
  }
}

}  // namespace atalaya::core
