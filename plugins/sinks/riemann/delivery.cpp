// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/riemann/delivery.h"

#include <algorithm>

#include "plugins/shared/io/http/client/connection.h"

namespace atalaya::riemann_sink {
namespace {

// After this number of refusals the error is not temporary.
constexpr int kPatientTries = 3;
// Maximum splits of a message: enough for about thirty bad events among 1,000.
constexpr size_t kMaxSearches = 256;
// If a server refuses this number of single events with equal texts and accepts none, the cause is the server, not the events.
constexpr size_t kSuspicious = 8;
// After this number of attempts refusals are final, so that a batch of invalid events is not retried without end.
constexpr int kMaxTries = 10;

}  // namespace

void Delivery::load(protocols::Events &events) {
  events_ = &events;
  dead_.clear();
  refusals_ = confirmations_ = 0;
  splits_ = split_end_ = 0;
  accepted_any_ = false;
  undelivered_.clear();
  if (events_->size() > 0) undelivered_.push_back({0, events_->size()});
}

bool Delivery::deliver() {
  problem_.clear();
  while (!undelivered_.empty()) {
    const Range range = next_message();
    protocols::Answer answer;
    try {
      answer = exchange_(events_->message(range.first, range.last));
    } catch (const http_client::NoAnswer &none) {
      problem_ = none.what();
      return false;
    }
    if (answer.accepted) {
      accepted_any_ = true;
      if (range.first >= split_end_) refusals_ = 0;
      mark_delivered(range);
    } else if (!refused(range, answer.server_message)) {
      return false;
    }
  }
  return !retry_refused();
}

bool Delivery::retry_refused() {
  if (dead_.empty()) return false;
  const bool may_be_temporary =
      !accepted_any_ && dead_.size() >= kSuspicious &&
      std::all_of(dead_.begin(), dead_.end(), [&](const Dead &one) { return one.server_message == dead_.front().server_message; });
  if (confirmations_ > 0 && (!may_be_temporary || confirmations_ >= kMaxTries)) return false;
  ++confirmations_;
  problem_ =
      "refuses " + std::to_string(dead_.size()) + (dead_.size() == 1 ? " event: " : " events: ") + dead_.front().server_message;
  for (const Dead &one : dead_) undelivered_.push_back({one.event, one.event + 1});
  dead_.clear();
  accepted_any_ = false;
  return true;
}

// Returns the next events, up to the limits of a message.
Delivery::Range Delivery::next_message() const {
  Range range = undelivered_.front();
  size_t bytes = 0, end = range.first;
  while (end < range.last && end - range.first < options_.batch_events) {
    bytes += events_->bytes(end);
    if (bytes > options_.batch_bytes && end > range.first) break;
    ++end;
  }
  range.last = end;
  return range;
}

bool Delivery::refused(Range range, const std::string &server_message) {
  const bool is_new = range.first >= split_end_ && confirmations_ == 0;
  if (is_new && ++refusals_ < kPatientTries) {
    problem_ = "answered with an error: " + server_message;
    return false;
  }
  if (is_new) {
    refusals_ = 0;
    splits_ = 0;
    split_end_ = range.last;
  }
  if (range.count() > 1 && splits_++ < kMaxSearches) {
    halve(range);
  } else {
    for (size_t i = range.first; i < range.last; ++i) dead_.push_back({i, server_message});
    mark_delivered(range);
  }
  return true;
}

void Delivery::halve(Range range) {
  const size_t middle = range.first + range.count() / 2;
  mark_delivered(range);
  undelivered_.push_front({middle, range.last});
  undelivered_.push_front({range.first, middle});
}

void Delivery::mark_delivered(Range range) {
  undelivered_.front().first = range.last;
  if (undelivered_.front().count() == 0) undelivered_.pop_front();
}

}  // namespace atalaya::riemann_sink
