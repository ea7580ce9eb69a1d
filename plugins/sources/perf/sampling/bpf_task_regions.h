// SPDX-License-Identifier: Apache-2.0
// Receives the runs of code regions whose runs are tasks from bpf/perf_regions.bpf.h. The
// caller serializes take() and polls of the ring.
#pragma once

#include <cstdint>
#include <memory>

#include "plugins/shared/code/probes/links.h"
#include "plugins/shared/host/bpf/loading.h"
#include "plugins/sources/perf/sampling/sampler.h"

struct perf_bpf;
struct ring_buffer;

namespace atalaya::perf {

class TaskRegions {
 public:
  // Configures the programs before they are loaded. multi: with uprobe_multi links (Linux 6.6).
  void prepare(perf_bpf &skeleton, const SamplerOptions &options, bool multi);
  // Returns true if the kernel supports uprobe_multi links; call it after the programs were loaded with multi.
  static bool supports_multi(perf_bpf &skeleton);
  // Starts the programs. Returns false on failure; libbpf logs the reason.
  bool start(perf_bpf &skeleton, ring_buffer &ring);
  core::Result<std::unique_ptr<probes::Attachment>> attach(perf_bpf &skeleton, uint32_t region, int file,
                                                           const probes::Points &points) const;
  TaskRuns take(perf_bpf &skeleton);

 private:
  static int on_run(void *self, void *data, size_t size) noexcept;

  bool multi_ = true;
  bpf::Link exec_;
  TaskRuns collected_runs_;
};

}  // namespace atalaya::perf
