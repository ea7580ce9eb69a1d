// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/uprobe/run_ring.h"

#include <bpf/libbpf.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <exception>
#include <utility>

namespace atalaya::uprobe {

void RunRing::RingDeleter::operator()(ring_buffer *ring) const {
  ring_buffer__free(ring);
}

bool RunRing::open(int map) {
  ring_.reset(ring_buffer__new(map, on_run, this, nullptr));
  stop_ = core::Descriptor(::eventfd(0, EFD_CLOEXEC));
  if (!ring_ || !stop_) return false;
  thread_ = std::thread([this] { run(); });
  return true;
}

RunRing::~RunRing() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

void RunRing::run() {
  pthread_setname_np(pthread_self(), "uprobe");
  std::array<pollfd, 2> waits{{{ring_buffer__epoll_fd(ring_.get()), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
  for (;;) {
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;  // a signal
    if (waits[1].revents != 0) return;
    const std::lock_guard lock(mutex_);
    ring_buffer__poll(ring_.get(), 0);  // takes what it was woken for, too
  }
}

// Called from C: nothing is thrown through it.
int RunRing::on_run(void *self, void *data, size_t size) noexcept {
  if (size >= sizeof(uprobe_run)) static_cast<RunRing *>(self)->keep(*static_cast<const uprobe_run *>(data));
  return 0;
}

void RunRing::keep(const uprobe_run &run) {
  if (run.region >= UPROBE_REGIONS) return;
  if (wants_ && !wants_({run.comm, ::strnlen(run.comm, UPROBE_COMM)})) return;
  try {
    if (kept_.size() < max_kept_) return kept_.push_back(run);
  } catch (const std::exception &) {  // no memory
  }
  ++lost_[run.region];
}

std::vector<uint64_t> RunRing::take(const std::function<void(const uprobe_run &)> &take) {
  taken_.clear();
  std::vector<uint64_t> lost(UPROBE_REGIONS);
  {
    const std::lock_guard lock(mutex_);
    ring_buffer__consume(ring_.get());
    taken_.swap(kept_);
    lost.swap(lost_);
  }
  for (const uprobe_run &run : taken_) take(run);
  return lost;
}

}  // namespace atalaya::uprobe
