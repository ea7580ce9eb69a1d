// SPDX-License-Identifier: Apache-2.0
// The metrics that a hub (the agent that receives) reports about its senders.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plugins/sources/receive/senders.h"

namespace atalaya::receive {

inline constexpr MetricTag kSenderTags[] = {metric::identity("host"), metric::identity("sender")};

inline constexpr Metric kOwnMetrics[] = {
    metric::delta("receive.requests.accepted", "1", metric::count, kSenderTags, "answers below 300",
                  "Requests of the sender that were stored"),
    metric::delta("receive.requests.refused", "1", metric::count, kSenderTags, "answers from 400",
                  "Requests of the sender that were answered with an error"),
    metric::delta("receive.requests.throttled", "1", metric::count, kSenderTags, "answers 429",
                  "Refused requests of the sender that exceeded a quota or a queue"),
    metric::delta("receive.bytes", "By", metric::count, kSenderTags, "bodies", "Bytes of the sender's bodies, decompressed"),
    metric::delta("receive.samples", "1", metric::count, kSenderTags, "bodies", "Samples of the sender's bodies"),
    metric::delta("receive.series.new", "1", metric::count, kSenderTags, "hashes of series",
                  "Series that the sender had not sent in its hour yet, an estimate within 3 %"),
    metric::gauge("receive.names", "1", metric::count, metric::host_tags, "table of names",
                  "Names of metrics and tags of senders that count against max_names"),
};

// Adds one sample per sender that was active in the window, and one sample of the hub. Not thread-safe.
class OwnMetrics {
 public:
  // Maximum senders with separate samples: those with the most requests. One sample "other" has the sum of the rest.
  static constexpr size_t kMaxSenders = 64;

  // `every_ns`: length of a window; 0: no metrics.
  OwnMetrics(Host host, int64_t every_ns);

  // The monotonic time at which the window ends; INT64_MAX: no metrics.
  int64_t due_ns() const { return due_ns_; }
  // Starts the first window.
  void start(int64_t monotonic_ns, int64_t realtime_ns);
  // Ends the window, adds its samples with the time of its end, and starts the next window.
  void add(Batch &batch, const Senders &senders, size_t names, int64_t monotonic_ns, int64_t realtime_ns);

 private:
  struct Counts {
    uint64_t accepted = 0, refused = 0, throttled = 0, bytes = 0, samples = 0, new_series = 0;

    uint64_t requests() const { return accepted + refused; }
    bool empty() const { return requests() + bytes + samples + new_series == 0; }
    void add(const Counts &more);
  };
  struct Row {
    std::string_view sender;
    Counts counts;
  };

  static Counts read_and_reset(SenderCounts &counts);
  static std::vector<Row> rows_of(const std::vector<SenderPtr> &senders);
  Sample &add_sample(Batch &batch, uint32_t tags, uint32_t fields) const;
  void add_row(Batch &batch, const Row &row) const;

  const Host host_;
  const int64_t every_ns_;
  const uint32_t sender_, accepted_, refused_, throttled_, bytes_, samples_, new_series_, names_;
  int64_t due_ns_ = INT64_MAX;
  int64_t start_ns_ = 0, end_ns_ = 0;  // current window, Unix time
};

}  // namespace atalaya::receive
