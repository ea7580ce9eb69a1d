// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/protocols/riemann/answer.h"
#include "plugins/shared/protocols/riemann/events.h"

namespace atalaya::riemann_sink {

struct DeliveryOptions {
  size_t batch_events = 1000;
  size_t batch_bytes = size_t{1} << 20;
};

// Delivers a batch of events, one message after another, and keeps its progress. One thread.
//
// Riemann answers a message as a whole and does not report whether an error concerns the server or one event. A refused message
// is sent again a few times, then split in halves until single events remain that are always refused. These are sent once more at
// the end, after a pause, in case the server had a temporary problem.
class Delivery {
 public:
  // Sends a message and receives the answer; throws http_client::NoAnswer.
  using Exchange = std::function<protocols::Answer(std::string_view message)>;
  Delivery(const DeliveryOptions &options, Exchange exchange) : options_(options), exchange_(std::move(exchange)) {}

  // Makes these the current batch. They must not change until they are delivered or another batch is loaded.
  void load(protocols::Events &events);
  // Sends the rest of the batch. False: not delivered yet, `problem` has the reason; call it again later.
  bool deliver();

  const std::string &problem() const { return problem_; }
  struct Dead {
    size_t event;
    std::string words;
  };
  // Of the current batch; complete when deliver() has returned true.
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
  // Whether the refused events are sent once more.
  bool retry_refused();

  const DeliveryOptions options_;
  const Exchange exchange_;

  // The current batch.
  protocols::Events *events_ = nullptr;
  std::deque<Range> todo_;  // in order; each is one message or several
  std::vector<Dead> dead_;
  std::string problem_;
  int refusals_ = 0;           // of the current message
  size_t searches_ = 0;        // splits of the current message
  size_t searched_to_ = 0;     // its end, during a search
  int confirmations_ = 0;      // repetitions of the refused events
  bool accepted_any_ = false;  // since then
};

}  // namespace atalaya::riemann_sink
