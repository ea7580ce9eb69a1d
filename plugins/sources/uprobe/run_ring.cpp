// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/uprobe/run_ring.h"

#include <cstring>
#include <exception>

namespace atalaya::uprobe {

void RunRing::buffer(const void *data, size_t size) {
  if (size < sizeof(uprobe_run)) return;
  const auto &run = *static_cast<const uprobe_run *>(data);
  if (run.region >= UPROBE_REGIONS) return;
  if (wants_ && !wants_({run.comm, ::strnlen(run.comm, UPROBE_COMM)})) return;
  try {
    if (buffered_.size() < max_buffered_) return buffered_.push_back(run);
  } catch (const std::exception &) {  // out of memory
  }
  ++lost_[run.region];
}

std::vector<uint64_t> RunRing::take(const std::function<void(const uprobe_run &)> &take) {
  drained_.clear();
  std::vector<uint64_t> lost(UPROBE_REGIONS);
  {
    const auto lock = ring_.drain();
    drained_.swap(buffered_);
    lost.swap(lost_);
  }
  for (const uprobe_run &run : drained_) take(run);
  return lost;
}

}  // namespace atalaya::uprobe
