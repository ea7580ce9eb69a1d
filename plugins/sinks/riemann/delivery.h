// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/sinks/riemann/answer.h"
#include "plugins/sinks/riemann/events.h"

namespace atalaya::riemann_sink {

struct DeliveryOptions {
  size_t batch_events = 1000;
  size_t batch_bytes = size_t{1} << 20;
};

// Delivers a batch of events, one message after the other, and knows how far it came. One thread.
//
// Riemann answers a message as a whole, and does not say whether an error is its own or of one event. So what it refuses is sent
// again a few times; then it is halved until the events stand alone that are refused whatever comes with them. These are sent once
// more at the end, after a pause: what was refused because the server was in trouble meanwhile is taken then.
class Delivery {
 public:
  // Sends a message and hears the answer; throws http_client::NoAnswer.
  using Exchange = std::function<Answer(std::string_view message)>;
  Delivery(const DeliveryOptions &options, Exchange exchange) : options_(options), exchange_(std::move(exchange)) {}

  // Takes these as the batch at hand. They stay as they are until it is delivered, or another one comes.
  void load(Events &events);
  // Sends what is left of it. False: not now, `problem` says why; call it again later.
  bool deliver();

  const std::string &problem() const { return problem_; }
  struct Dead {
    size_t event;
    std::string words;
  };
  // Of the batch at hand, complete when deliver() has returned true.
  const std::vector<Dead> &dead() const { return dead_; }

 private:
  struct Range {
    size_t first, last;
    size_t count() const { return last - first; }
  };

  Range next_message() const;
  bool refused(Range range, const std::string &words);
  void halve(Range range);
  void done_with(Range range);
  // Whether those that were refused are to be sent once more.
  bool ask_again();

  const DeliveryOptions options_;
  const Exchange exchange_;

  // The batch at hand.
  Events *events_ = nullptr;
  std::deque<Range> todo_;  // in order; each is one message, or several
  std::vector<Dead> dead_;
  std::string problem_;
  int refusals_ = 0;           // of the message at hand
  size_t searches_ = 0;        // halvings spent on it
  size_t searched_to_ = 0;     // its end, once it is being searched
  int confirmations_ = 0;      // how often what was refused has been sent again
  bool accepted_any_ = false;  // since then
};

}  // namespace atalaya::riemann_sink
