// SPDX-License-Identifier: Apache-2.0
// The senders of a hub, with the usage of each in its current hour and its position in the FairQueue.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/sources/receive/distinct_count.h"

namespace atalaya::receive {

// Limits per sender and hour; 0: no limit.
struct Quotas {
  uint64_t bytes = 0;  // bytes after decompression
  int64_t cpu_ns = 0;
  uint64_t series = 0;
};

// Counts of one sender since its metrics were last reported. Thread-safe.
struct SenderCounts {
  std::atomic<uint64_t> accepted{0}, refused{0}, throttled{0};  // requests; `refused` includes `throttled`
  std::atomic<uint64_t> bytes{0}, samples{0}, new_series{0};

  void count_answer(unsigned status);
};

// A sender is a client address. Its hour starts with the first request after the previous hour.
class Sender {
 public:
  explicit Sender(std::string its_name) : name(std::move(its_name)) {}

  const std::string name;
  std::atomic<size_t> body_bytes{0};  // bytes of its bodies being received or waiting
  int64_t virtual_time = 0;           // its position in the FairQueue
  // Used by the reading thread only: counted names and all names of this sender (see NameBudget), and its series of this hour.
  size_t names = 0, name_bytes = 0, total_names = 0, total_name_bytes = 0;
  DistinctCount series;
  SenderCounts counts;

 private:
  friend class Senders;
  int64_t hour_end_ = 0, used_at_ = 0, cpu_ns_ = 0;
  uint64_t bytes_ = 0, series_ = 0, refused_ = 0;
};
using SenderPtr = std::shared_ptr<Sender>;

// Thread-safe, except charge.
class Senders {
 public:
  using Notice = std::function<void(std::string_view)>;
  static constexpr size_t kMaxNamedSenders = 16384;  // further senders share one entry

  Senders(const Quotas &quotas, Notice notice, size_t max_senders = kMaxNamedSenders);

  SenderPtr find_or_add(std::string_view address, int64_t now_ns);
  struct Refusal {
    std::string why;
    int retry_after = 0;  // seconds
  };
  // Returns why the sender must wait for its next hour, or nothing. Counts refusals and logs the first one of an hour.
  std::optional<Refusal> refusal(Sender &sender, int64_t now_ns);
  // Adds usage to the sender's hour. Called on the reading thread only.
  void charge(Sender &sender, uint64_t bytes, int64_t cpu_ns, int64_t now_ns);
  // The entry for requests that are refused before their sender is known: without a token, or to a path that does not exist.
  Sender &unidentified_sender() { return *unidentified_; }
  std::vector<SenderPtr> all() const;

 private:
  void start_hour(Sender &sender, int64_t now_ns);
  std::string exceeded(const Sender &sender) const;
  void forget_idle(int64_t now_ns);

  const Quotas quotas_;
  const Notice notice_;
  const size_t max_senders_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, SenderPtr> known_;
  const SenderPtr others_ = std::make_shared<Sender>("others");
  const SenderPtr unidentified_ = std::make_shared<Sender>("unidentified");
  int64_t last_sweep_ns_ = 0;
};

}  // namespace atalaya::receive
