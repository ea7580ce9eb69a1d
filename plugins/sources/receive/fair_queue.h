// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "plugins/sources/receive/request.h"

namespace atalaya::receive {

// A request that waits to be read.
struct Waiting {
  std::shared_ptr<Request> request;
  int64_t since = 0;
};

// Requests of one sender leave in the order of arrival. Of several senders, the next is the one whose requests have cost least
// since it began to wait, so that each waiting sender gets an equal share of the time, however much the others send. For one thread
// at a time.
class FairQueue {
 public:
  bool empty() const { return waiting_.empty(); }
  size_t size() const { return waiting_.size(); }
  const Waiting &oldest() const { return waiting_.front(); }

  void push(Waiting waiting);
  Waiting pop();
  Waiting pop_oldest() { return remove(waiting_.begin()); }
  // The cost of what was popped last. Until then its sender waits.
  void charge(int64_t cost);
  template <class Each>
  void each(Each &&each) const {
    for (const Waiting &waiting : waiting_) each(waiting);
  }
  void clear();

 private:
  using List = std::list<Waiting>;

  Waiting remove(List::iterator at);

  List waiting_;  // in the order of arrival
  std::unordered_map<const Sender *, std::deque<List::iterator>> lines_;
  std::set<std::pair<int64_t, Sender *>> ready_;  // by turn: those that wait, without the one that is served
  SenderPtr served_;
  int64_t clock_ = 0;
};

}  // namespace atalaya::receive
