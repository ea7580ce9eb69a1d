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

// Delivers a batch of events, one message after another. A call of deliver continues where the last one failed. Not thread-safe.
//
// Riemann accepts or refuses a message as a whole and does not report whether the server or one event caused the error. So a
// refused message is sent again a few times, then split in halves until single events remain that are always refused (bisection).
// These are sent once more at the end, after a pause, in case the server had a temporary problem.
class Delivery {
 public:
  // Sends a message and receives the answer; throws http_client::NoAnswer.
  using Exchange = std::function<protocols::Answer(std::string_view message)>;
  Delivery(const DeliveryOptions &options, Exchange exchange) : options_(options), exchange_(std::move(exchange)) {}

  // Sets the current batch. `events` must not change until it is delivered or load is called again.
  void load(protocols::Events &events);
  // Sends the undelivered events. Returns false if some remain: problem() has the reason, and the caller must try again later.
  bool deliver();

  const std::string &problem() const { return problem_; }
  struct Dead {
    size_t event;
    std::string server_message;
  };
  // The refused events of the current batch; complete when deliver() has returned true.
  const std::vector<Dead> &dead() const { return dead_; }

 private:
  struct Range {
    size_t first, last;
    size_t count() const { return last - first; }
  };

  Range next_message() const;
  bool refused(Range range, const std::string &server_message);
  void halve(Range range);
  void mark_delivered(Range range);
  // Queues the refused events again if that is still allowed; returns whether it did.
  bool retry_refused();

  const DeliveryOptions options_;
  const Exchange exchange_;

  // The current batch.
  protocols::Events *events_ = nullptr;
  std::deque<Range> undelivered_;  // undelivered events, in order; a range is one message or several
  std::vector<Dead> dead_;
  std::string problem_;
  int refusals_ = 0;           // number of refusals of the current message
  size_t splits_ = 0;          // number of splits of the current message
  size_t split_end_ = 0;       // end of the message that is split
  int confirmations_ = 0;      // number of times that the refused events were sent again
  bool accepted_any_ = false;  // the server has accepted a message since the last confirmation
};

}  // namespace atalaya::riemann_sink
