// SPDX-License-Identifier: Apache-2.0
// Code regions whose runs are tasks, as bpf/perf_regions.bpf.h follows them. The caller serializes take and the ring.
#pragma once

#include <cstdint>
#include <memory>

#include "plugins/shared/host/bpf/loading.h"
#include "plugins/shared/code/probes/links.h"
#include "plugins/sources/perf/sampling/sampler.h"

struct perf_bpf;
struct ring_buffer;

namespace atalaya::perf {

class TaskRegions {
 public:
  // Before the programs are loaded. multi: with the links of Linux 6.6.
  void prepare(perf_bpf &skeleton, const SamplerOptions &options, bool multi);
  // After they were loaded for such links: whether the kernel has them.
  static bool supports_multi(perf_bpf &skeleton);
  // False: libbpf has the reason.
  bool start(perf_bpf &skeleton, ring_buffer &ring);
  core::Result<std::unique_ptr<probes::Attachment>> attach(perf_bpf &skeleton, uint32_t region, int file,
                                                           const probes::Points &points) const;
  TaskRuns take(perf_bpf &skeleton);

 private:
  static int on_run(void *self, void *data, size_t size) noexcept;

  bool multi_ = true;
  bpf::Link exec_;
  TaskRuns kept_;
};

}  // namespace atalaya::perf
