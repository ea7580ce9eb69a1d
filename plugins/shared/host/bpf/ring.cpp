// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/bpf/ring.h"

#include <bpf/libbpf.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace atalaya::bpf {

void Ring::Deleter::operator()(ring_buffer *ring) const {
  ring_buffer__free(ring);
}

bool Ring::open(int map, const char *thread_name) {
  ring_.reset(ring_buffer__new(map, on_record, this, nullptr));
  stop_ = core::Descriptor(::eventfd(0, EFD_CLOEXEC));
  if (!ring_ || !stop_) return false;
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), thread_name);
  return true;
}

Ring::~Ring() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

void Ring::run() {
  std::array<pollfd, 2> waits{{{ring_buffer__epoll_fd(ring_.get()), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
  for (;;) {
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;  // interrupted by a signal
    if (waits[1].revents != 0) return;
    const std::lock_guard lock(mutex_);
    ring_buffer__poll(ring_.get(), 0);  // also consumes the wake-up event
  }
}

int Ring::on_record(void *self, void *data, size_t size) noexcept {
  static_cast<Ring *>(self)->on_record_(data, size);
  return 0;
}

std::unique_lock<std::mutex> Ring::drain() {
  auto lock = this->lock();
  drain_locked();
  return lock;
}

void Ring::drain_locked() {
  ring_buffer__consume(ring_.get());
}

}  // namespace atalaya::bpf
