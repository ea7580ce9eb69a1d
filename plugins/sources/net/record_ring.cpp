// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/record_ring.h"

#include <bpf/libbpf.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace atalaya::net {

void RecordRing::RingDeleter::operator()(ring_buffer *ring) const {
  ring_buffer__free(ring);
}

bool RecordRing::open(int map) {
  ring_.reset(ring_buffer__new(map, on_record, this, nullptr));
  stop_ = core::Descriptor(::eventfd(0, EFD_CLOEXEC));
  if (!ring_ || !stop_) return false;
  thread_ = std::thread([this] { run(); });
  return true;
}

RecordRing::~RecordRing() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

void RecordRing::run() {
  std::array<pollfd, 2> waits{{{ring_buffer__epoll_fd(ring_.get()), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
  for (;;) {
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;  // a signal
    if (waits[1].revents != 0) return;
    const std::lock_guard lock(mutex_);
    ring_buffer__poll(ring_.get(), 0);  // takes what it was woken for, too
  }
}

int RecordRing::on_record(void *self, void *data, size_t size) {
  if (size >= sizeof(net_record)) static_cast<RecordRing *>(self)->keep(*static_cast<const net_record *>(data));
  return 0;
}

void RecordRing::keep(const net_record &record) {
  if (record.kind != NET_MOVED) {
    if (kept_.size() < max_kept_)
      kept_.push_back(record);
    else
      ++lost_;
    return;
  }
  const Key key{record.cookie, record.owner.pid};
  auto at = uses_.find(key);
  if (at == uses_.end()) {
    if (uses_.size() >= max_kept_) {
      ++lost_;
      return;
    }
    at = uses_.emplace(key, net_use{record.owner, record.ends, record.protocol, record.flags, record.peer, 0, 0, 0, 0, 0}).first;
  }
  at->second.in_bytes += record.amounts.in_bytes;
  at->second.out_bytes += record.amounts.out_bytes;
  at->second.in_calls += record.amounts.in_packets;
  at->second.out_calls += record.amounts.out_packets;
}

void RecordRing::take(const Backend::Take &take) {
  taken_.clear();
  {
    const std::lock_guard lock(mutex_);
    ring_buffer__consume(ring_.get());
    taken_.swap(kept_);
  }
  for (const net_record &record : taken_) take(record);
}

void RecordRing::take_uses(const Backend::TakeUse &take) {
  const std::lock_guard lock(mutex_);
  std::erase_if(uses_, [&take](const auto &entry) {
    const net_use_key key{entry.first.cookie, entry.first.pid, 0};
    const bool rests = take(key, entry.second, false);
    if (rests) take(key, entry.second, true);
    return rests;
  });
}

uint64_t RecordRing::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace atalaya::net
