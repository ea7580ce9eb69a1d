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

// A request that waits to be parsed.
struct Waiting {
  std::shared_ptr<Request> request;
  int64_t since = 0;  // monotonic time of its arrival
};

// A fair queue (start-time fair queuing) over senders: pop returns the first request of the waiting sender with the lowest virtual
// time (Sender::virtual_time), and charge adds the cost of the request to it. So each waiting sender gets an equal share of the
// time, whatever the others send. Requests of one sender keep their order. Not thread-safe.
class FairQueue {
 public:
  bool empty() const { return waiting_.empty(); }
  size_t size() const { return waiting_.size(); }
  const Waiting &oldest() const { return waiting_.front(); }

  void push(Waiting waiting);
  Waiting pop();
  Waiting pop_oldest() { return remove(waiting_.begin()); }
  // Charges the cost of the last popped request to its sender. Until then pop returns no other request of this sender.
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
  std::unordered_map<const Sender *, std::deque<List::iterator>> requests_by_sender_;
  std::set<std::pair<int64_t, Sender *>> waiting_senders_;  // waiting senders by virtual time, without served_sender_
  SenderPtr served_sender_;
  int64_t virtual_time_ = 0;
};

}  // namespace atalaya::receive
