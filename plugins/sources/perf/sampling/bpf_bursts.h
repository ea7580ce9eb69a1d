// SPDX-License-Identifier: Apache-2.0
// Runs the bursts of bpf/perf_wakers.bpf.h: a thread attaches the programs for a short time at each interval. Detached programs
// cost nothing.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bpf/perf.h"
#include "plugins/shared/host/bpf/loading.h"
#include "plugins/sources/perf/sampling/sampler.h"

struct perf_bpf;

namespace atalaya::perf {

class Bursts {
 public:
  // The skeleton must outlive this object. max_waits: maximum distinct waits between two calls of `take`.
  Bursts(perf_bpf &skeleton, int64_t length_ns, int64_t every_ns, size_t max_waits)
      : skeleton_(skeleton), length_ns_(length_ns), every_ns_(every_ns), max_waits_(max_waits) {}
  Bursts(const Bursts &) = delete;
  Bursts &operator=(const Bursts &) = delete;
  ~Bursts();

  // Sizes the maps before the programs are loaded. max_stacks 0: no bursts.
  static void prepare(perf_bpf &skeleton, uint32_t max_stacks);
  // Starts the thread and the first burst. Returns false on failure; libbpf logs the reason.
  bool start();
  // Reports the waits of the bursts that ended since the last call.
  BurstTotals take(const WaitCallback &take, size_t max_frames);

 private:
  struct LessBytes {
    bool operator()(const perf_owner_key &a, const perf_owner_key &b) const { return std::memcmp(&a, &b, sizeof(a)) < 0; }
  };
  using Waits = std::map<perf_owner_key, perf_owner_count, LessBytes>;
  using Stacks = std::map<uint64_t, std::vector<uint64_t>>;  // stacks by hash
  struct Recorded {
    Waits waits;
    Stacks stacks;
    std::set<std::string> disks;
    uint64_t counted = 0;
    BurstTotals totals;
  };

  bool attach();
  void run();
  bool wait_until(std::unique_lock<std::mutex> &lock, int64_t time_ns);
  void end_burst();
  // The caller holds the lock for the methods below. Reads the waits of a burst that ended at end_ns; returns the number of waits
  // without an end.
  uint64_t read_waits(uint64_t end_ns);
  void add(const perf_owner_key &key, const perf_owner_count &count);
  void read_stacks(const perf_owner_key &key);
  void record_burst(uint64_t counted, const BurstTotals &totals);

  perf_bpf &skeleton_;
  const int64_t length_ns_, every_ns_;
  const size_t max_waits_;
  std::vector<bpf::Link> links_;  // used only by the burst thread
  std::thread thread_;
  std::condition_variable stopped_;

  std::mutex mutex_;  // guards the members below
  bool is_stopping_ = false;
  Recorded recorded_;
};

}  // namespace atalaya::perf
