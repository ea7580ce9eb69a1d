// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/fair_queue.h"

#include <algorithm>

namespace atalaya::receive {

void FairQueue::push(Waiting waiting) {
  Sender *sender = waiting.request->sender.get();
  auto &line = requests_by_sender_[sender];
  if (line.empty() && sender != served_sender_.get()) {
    sender->virtual_time = std::max(sender->virtual_time, virtual_time_);
    waiting_senders_.emplace(sender->virtual_time, sender);
  }
  line.push_back(waiting_.insert(waiting_.end(), std::move(waiting)));
}

Waiting FairQueue::pop() {
  const auto [virtual_time, sender] = *waiting_senders_.begin();
  waiting_senders_.erase(waiting_senders_.begin());
  virtual_time_ = virtual_time;
  const List::iterator next = requests_by_sender_.at(sender).front();
  served_sender_ = next->request->sender;
  return remove(next);
}

// Removes a request, which must be the first of its sender.
Waiting FairQueue::remove(List::iterator at) {
  Waiting removed = std::move(*at);
  waiting_.erase(at);
  Sender *sender = removed.request->sender.get();
  const auto line = requests_by_sender_.find(sender);
  line->second.pop_front();
  if (!line->second.empty()) return removed;
  requests_by_sender_.erase(line);
  if (sender != served_sender_.get()) waiting_senders_.erase({sender->virtual_time, sender});
  return removed;
}

void FairQueue::charge(int64_t cost) {
  const SenderPtr sender = std::exchange(served_sender_, nullptr);
  if (!sender) return;
  sender->virtual_time = std::max(sender->virtual_time, virtual_time_) + cost;
  if (requests_by_sender_.contains(sender.get())) waiting_senders_.emplace(sender->virtual_time, sender.get());
}

void FairQueue::clear() {
  waiting_.clear();
  requests_by_sender_.clear();
  waiting_senders_.clear();
  served_sender_.reset();
}

}  // namespace atalaya::receive
