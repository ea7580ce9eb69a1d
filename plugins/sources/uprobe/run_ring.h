// SPDX-License-Identifier: Apache-2.0
// Buffers the runs that the BPF programs report: a thread reads the ring, take empties the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf/uprobe.h"
#include "plugins/shared/host/bpf/ring.h"

namespace atalaya::uprobe {

class RunRing {
 public:
  using Wants = std::function<bool(std::string_view process)>;  // empty: all
  RunRing(size_t max_buffered, Wants wants) : max_buffered_(max_buffered), wants_(std::move(wants)), lost_(UPROBE_REGIONS) {}
  bool open(int map) { return ring_.open(map, "uprobe"); }

  // Calls `take` for the selected runs since the last call. Returns the number of runs per region that exceeded max_buffered.
  std::vector<uint64_t> take(const std::function<void(const uprobe_run &)> &take);

 private:
  void buffer(const void *data, size_t size);

  const size_t max_buffered_;
  const Wants wants_;
  std::vector<uprobe_run> buffered_, drained_;
  std::vector<uint64_t> lost_;  // by region: number of dropped runs
  bpf::Ring ring_{              // declared last, so that it is destroyed first: its thread fills the members above
                  [this](const void *data, size_t size) { buffer(data, size); }};
};

}  // namespace atalaya::uprobe
