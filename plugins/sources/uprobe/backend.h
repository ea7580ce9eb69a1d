// SPDX-License-Identifier: Apache-2.0
// The interface of the probes at the entries and ends of regions: BPF programs, or a fake in tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "bpf/uprobe.h"
#include "core/base/result.h"
#include "plugins/shared/code/probes/attachment.h"
#include "plugins/shared/code/probes/regions.h"

namespace atalaya::uprobe {

static_assert(UPROBE_REGIONS == probes::kMaxRegions && UPROBE_NO_BYTES == probes::kNoBytes &&
              UPROBE_BYTES_RETURNED == probes::kBytesReturned);

struct BackendOptions {
  std::vector<uint8_t> bytes;      // by region: the source of its bytes, UPROBE_*
  std::vector<uint8_t> by_return;  // by region: 1 if it ends where its function returns
  // Whether processes of this name are selected; called on any thread. Empty: all are selected and counts are not kept by name.
  std::function<bool(std::string_view)> wants;
  uint64_t min_ns = 0;           // shorter runs are not reported
  uint64_t max_events = 10000;   // maximum events per region and second
  size_t max_buffered = 131072;  // maximum buffered runs between two calls of take
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Attaches to the open file `file`, which may be closed afterwards.
  virtual core::Result<std::unique_ptr<probes::Attachment>> attach(uint32_t region, int file, const probes::Points &points) = 0;

  // Calls `take` for the runs that ended since the last call. Returns the number of runs per region that were dropped because
  // max_buffered was reached.
  virtual std::vector<uint64_t> take(const std::function<void(const uprobe_run &)> &take) = 0;
  // Calls `take` with the counts since the start, by region and, if `wants` is set, by process name. An entry with an empty name
  // has the counts of all processes for which the map had no room. If `take` returns false, the backend ignores processes of that
  // name from now on.
  virtual void read(const std::function<bool(const uprobe_key &, const uprobe_counts &)> &take) = 0;
};

// Opens the BPF backend, or returns the reason why BPF or uprobes are unavailable.
core::Result<std::unique_ptr<Backend>> open_bpf_backend(const BackendOptions &options);

}  // namespace atalaya::uprobe
