// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace atalaya::serve {

// A queue of work for a fixed number of workers, in which clients take turns. One client never has all workers, unless there is
// only one: requests of others do not wait until a long request ends. Not thread-safe.
template <class Item>
class FairQueue {
 public:
  explicit FairQueue(unsigned workers) : max_running_(std::max(1U, workers - 1)) {}

  size_t size() const { return size_; }

  void push(const std::string &client, Item item) {
    std::deque<Item> &waiting = clients_[client].waiting;
    if (waiting.empty()) turns_.push_back(client);
    waiting.push_back(std::move(item));
    ++size_;
  }

  // Removes the first item of the next client that may use one more worker; nothing if there is none. Call `finish` afterwards.
  std::optional<Item> pop() {
    const auto turn =
        std::find_if(turns_.begin(), turns_.end(), [this](auto &name) { return clients_[name].running < max_running_; });
    if (turn == turns_.end()) return std::nullopt;
    const std::string name = *turn;
    turns_.erase(turn);
    Client &client = clients_[name];
    std::optional<Item> item = std::move(client.waiting.front());
    client.waiting.pop_front();
    ++client.running;
    --size_;
    if (!client.waiting.empty()) turns_.push_back(name);
    return item;
  }

  // The work of an item of this client has ended.
  void finish(const std::string &client) {
    const auto found = clients_.find(client);
    if (--found->second.running == 0 && found->second.waiting.empty()) clients_.erase(found);
  }

  // Removes all waiting items, and calls the function with each.
  template <class Function>
  void clear(Function function) {
    for (auto &[name, client] : clients_) {
      for (Item &item : client.waiting) function(item);
      client.waiting.clear();
    }
    turns_.clear();
    size_ = 0;
  }

 private:
  struct Client {
    std::deque<Item> waiting;
    unsigned running = 0;
  };

  const unsigned max_running_;  // maximum items of one client that run at a time
  std::map<std::string, Client> clients_;
  std::deque<std::string> turns_;  // clients with waiting items; the next one is first
  size_t size_ = 0;                // waiting items
};

}  // namespace atalaya::serve
