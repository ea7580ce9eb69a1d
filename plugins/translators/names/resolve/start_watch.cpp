// SPDX-License-Identifier: Apache-2.0
#include "plugins/translators/names/resolve/start_watch.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

namespace atalaya::names {

core::Status StartWatch::start(bool forks, Callback take) {
  stop();
  take_ = std::move(take);
  stop_ = core::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_) return core::Error{"cannot create an eventfd: " + core::error_text(errno)};
  if (core::Status started = events_.start(forks); !started) return started;
  thread_ = std::thread([this] { run(); });
  return core::Done{};
}

void StartWatch::stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof(one));
  thread_.join();
  events_.stop();
}

void StartWatch::run() {
  pthread_setname_np(pthread_self(), "start-watch");
  std::array<pollfd, 2> wanted{pollfd{stop_.get(), POLLIN, 0}, pollfd{events_.socket(), POLLIN, 0}};
  std::vector<procfs::StartEvent> events;
  while (wanted[0].revents == 0) {
    if (::poll(wanted.data(), wanted.size(), -1) < 0) continue;
    events.clear();
    events_.read(events);
    if (!events.empty()) take_(events);
  }
}

}  // namespace atalaya::names
