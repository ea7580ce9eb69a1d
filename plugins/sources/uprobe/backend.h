// SPDX-License-Identifier: Apache-2.0
// Who sees threads enter and leave regions: programs in the kernel (BPF), or a recorded one in tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "bpf/uprobe.h"
#include "core/base/result.h"
#include "plugins/sources/uprobe/regions.h"

namespace atalaya::uprobe {

struct BackendOptions {
  std::vector<uint8_t> bytes;      // of each region, where its bytes are
  std::vector<uint8_t> by_return;  // of each region, 1: it ends where its function returns
  // Whether processes of this name are wanted, asked from any thread; empty: all are, and counts are not kept by name.
  std::function<bool(std::string_view)> wants;
  uint64_t min_ns = 0;        // shorter runs are not told
  uint64_t max_told = 10000;  // of a region, a second
  size_t max_kept = 131072;   // runs, between two takes
};

// While it lives, the region is seen in one file.
class Attachment {
 public:
  virtual ~Attachment() = default;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // In the file that is open as `file`, which may be closed afterwards.
  virtual core::Result<std::unique_ptr<Attachment>> attach(uint32_t region, int file, const Points &points) = 0;

  // The runs that have ended since the last call and are told; answers how many of a region were told by the kernel and had no room
  // here.
  virtual std::vector<uint64_t> take(const std::function<void(const uprobe_run &)> &take) = 0;
  // Counts since the start, by region and, with `wants`, name of the process; without a name are those that had no room by name.
  // Where `take` answers false, processes of that name are not looked at any more, and take no room.
  virtual void read(const std::function<bool(const uprobe_who &, const uprobe_counts &)> &take) = 0;
};

// A sentence when it does not work here.
core::Result<std::unique_ptr<Backend>> open_bpf_backend(const BackendOptions &options);

}  // namespace atalaya::uprobe
