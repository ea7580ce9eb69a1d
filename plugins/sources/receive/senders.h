// SPDX-License-Identifier: Apache-2.0
// The senders of a hub: what each has used in its hour, and whose turn it is.
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

#include "plugins/sources/receive/distinct_count.h"

namespace atalaya::receive {

// Per sender and hour; 0: no limit.
struct Quotas {
  uint64_t bytes = 0;  // after decompression
  int64_t cpu_ns = 0;
  uint64_t series = 0;
};

// A client address.
class Sender {
 public:
  explicit Sender(std::string its_name) : name(std::move(its_name)) {}

  const std::string name;
  std::atomic<size_t> held{0};  // bytes of bodies being received or waiting
  int64_t turn = 0;             // of FairQueue: the cost of its requests so far
  // Of the thread that reads: the names that it was the first to send, and the series of this hour.
  size_t names = 0, name_bytes = 0;
  DistinctCount series;

 private:
  friend class Senders;
  int64_t hour_end_ = 0, used_at_ = 0, cpu_ns_ = 0;
  uint64_t bytes_ = 0, series_ = 0, refused_ = 0;
};
using SenderPtr = std::shared_ptr<Sender>;

// Any thread.
class Senders {
 public:
  using Notice = std::function<void(std::string_view)>;
  static constexpr size_t kMost = 16384;  // further ones share an entry

  Senders(const Quotas &quotas, Notice notice, size_t most = kMost);

  SenderPtr of(std::string_view address, int64_t now_ns);
  struct Refusal {
    std::string why;
    int retry_after = 0;  // seconds
  };
  // Why it must wait for its next hour; counts and logs it.
  std::optional<Refusal> refusal(Sender &sender, int64_t now_ns);
  // From the thread that reads.
  void charge(Sender &sender, uint64_t bytes, int64_t cpu_ns, int64_t now_ns);

 private:
  void begin_hour(Sender &sender, int64_t now_ns);
  std::string exceeded(const Sender &sender) const;
  void forget_idle(int64_t now_ns);

  const Quotas quotas_;
  const Notice notice_;
  const size_t most_;
  std::mutex mutex_;
  std::unordered_map<std::string, SenderPtr> known_;
  const SenderPtr others_ = std::make_shared<Sender>("others");
  int64_t swept_ns_ = 0;
};

}  // namespace atalaya::receive
