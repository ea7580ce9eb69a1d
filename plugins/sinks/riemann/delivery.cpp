// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/riemann/delivery.h"

#include <algorithm>

#include "plugins/http_client/connection.h"

namespace atalaya::riemann_sink {
namespace {

// After so many refusals it is no mood of the server.
constexpr int kPatientTries = 3;
// How often a message may be halved: enough for some thirty bad events among 1,000.
constexpr size_t kMostSearches = 256;
// A server that has refused so many single events of a batch with the same words and accepted none is refusing something else.
constexpr size_t kSuspicious = 8;
// After so many tries it is believed all the same, so that a batch of nothing but poison does not stay for ever.
constexpr int kMostTries = 10;

}  // namespace

void Delivery::load(Events &events) {
  events_ = &events;
  refusals_ = 0;
  refusals_of_everything_ = 0;
  start_again();
}

void Delivery::start_again() {
  dead_.clear();
  searches_ = 0;
  searched_to_ = 0;
  accepted_any_ = false;
  todo_.clear();
  if (events_->size() > 0) todo_.push_back({0, events_->size()});
}

bool Delivery::deliver() {
  problem_.clear();
  while (!todo_.empty()) {
    const Range range = next_message();
    Answer answer;
    try {
      answer = exchange_(events_->message(range.first, range.last));
    } catch (const http_client::NoAnswer &none) {
      problem_ = none.what();
      return false;
    }
    if (answer.accepted) {
      accepted_any_ = true;
      done_with(range);
    } else if (!refused(range, answer.words)) {
      return false;
    }
  }
  if (!refused_everything()) return true;
  ++refusals_of_everything_;
  problem_ = "refuses every event: " + dead_.front().words;
  start_again();
  return false;
}

// The beginning of what is left, as much as a message may hold.
Delivery::Range Delivery::next_message() const {
  Range range = todo_.front();
  size_t bytes = 0, end = range.first;
  while (end < range.last && end - range.first < options_.batch_events) {
    bytes += events_->bytes(end);
    if (bytes > options_.batch_bytes && end > range.first) break;
    ++end;
  }
  range.last = end;
  return range;
}

bool Delivery::refused(Range range, const std::string &words) {
  if (++refusals_ < kPatientTries) {
    problem_ = "answered with an error: " + words;
    return false;
  }
  if (range.count() > 1 && may_halve(range)) {
    halve(range);
  } else {
    for (size_t i = range.first; i < range.last; ++i) dead_.push_back({i, words});
    done_with(range);
  }
  return true;
}

// What lies before `searched_to_` is a part of the message that is being searched; what lies behind is a new one.
bool Delivery::may_halve(Range range) {
  if (range.first >= searched_to_) {
    searches_ = 0;
    searched_to_ = range.last;
  }
  return searches_++ < kMostSearches;
}

void Delivery::halve(Range range) {
  const size_t middle = range.first + range.count() / 2;
  done_with(range);
  todo_.push_front({middle, range.last});
  todo_.push_front({range.first, middle});
}

void Delivery::done_with(Range range) {
  todo_.front().first = range.last;
  if (todo_.front().count() == 0) todo_.pop_front();
}

bool Delivery::refused_everything() const {
  return !accepted_any_ && refusals_of_everything_ < kMostTries && dead_.size() >= kSuspicious &&
         std::all_of(dead_.begin(), dead_.end(), [&](const Dead &one) { return one.words == dead_.front().words; });
}

}  // namespace atalaya::riemann_sink
