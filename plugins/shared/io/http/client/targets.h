// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "plugins/shared/io/http/client/connection.h"

namespace atalaya::http_client {

// The servers of a sink and their states: available, or failed until a time. Any thread.
class Targets {
 public:
  // With weights, series are distributed over the servers; without weights, the first available server is used.
  Targets(std::vector<Url> urls, std::vector<int64_t> weights, int64_t retry_max_ns);

  size_t size() const { return targets_.size(); }
  bool spread() const { return spread_; }
  const Url &url(size_t index) const { return targets_[index].url; }

  // The server of a series with this hash; it changes only if the list of servers changes.
  size_t home(uint64_t hash) const;

  struct Choice {
    size_t index;
    bool suspect;  // its last request failed
  };
  // The first server that may be tried now: `home`, then the others in the order of the list.
  std::optional<Choice> pick(size_t home, int64_t now_ns) const;
  // All servers: those that may be tried now, then the others, each in the order of the list.
  std::vector<size_t> order(int64_t now_ns) const;
  // Marks a server as failed for `wait_ns`, or, with 0, for a time that doubles up to retry_max, jittered.
  void mark_failed(size_t index, int64_t wait_ns, int64_t now_ns);
  void mark_available(size_t index);
  // Time until a server may be tried again; at least a millisecond.
  int64_t wait(int64_t now_ns) const;

 private:
  struct Target {
    Url url;
    double weight = 1;
    int failures = 0;
    int64_t down_until_ns = 0;
  };
  std::vector<Target> targets_;
  bool spread_;
  int64_t retry_max_ns_;
  mutable std::mutex mutex_;
  std::minstd_rand random_;
};

}  // namespace atalaya::http_client
