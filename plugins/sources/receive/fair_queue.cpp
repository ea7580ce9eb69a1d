// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/fair_queue.h"

#include <algorithm>

namespace atalaya::receive {

void FairQueue::push(Waiting waiting) {
  Sender *sender = waiting.request->sender.get();
  auto &line = lines_[sender];
  if (line.empty() && sender != served_.get()) {
    sender->turn = std::max(sender->turn, clock_);
    ready_.emplace(sender->turn, sender);
  }
  line.push_back(waiting_.insert(waiting_.end(), std::move(waiting)));
}

Waiting FairQueue::pop() {
  const auto [turn, sender] = *ready_.begin();
  ready_.erase(ready_.begin());
  clock_ = turn;
  const List::iterator next = lines_.at(sender).front();
  served_ = next->request->sender;
  return remove(next);
}

// The first of its sender.
Waiting FairQueue::remove(List::iterator at) {
  Waiting removed = std::move(*at);
  waiting_.erase(at);
  Sender *sender = removed.request->sender.get();
  const auto line = lines_.find(sender);
  line->second.pop_front();
  if (!line->second.empty()) return removed;
  lines_.erase(line);
  if (sender != served_.get()) ready_.erase({sender->turn, sender});
  return removed;
}

void FairQueue::charge(int64_t cost) {
  const SenderPtr sender = std::exchange(served_, nullptr);
  if (!sender) return;
  sender->turn = std::max(sender->turn, clock_) + cost;
  if (lines_.contains(sender.get())) ready_.emplace(sender->turn, sender.get());
}

void FairQueue::clear() {
  waiting_.clear();
  lines_.clear();
  ready_.clear();
  served_.reset();
}

}  // namespace atalaya::receive
