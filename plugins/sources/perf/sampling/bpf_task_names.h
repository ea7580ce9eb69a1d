// SPDX-License-Identifier: Apache-2.0
// Receives the names of threads that may run tasks from bpf/perf_tasks.bpf.h. Not thread-safe:
// the caller serializes all calls.
#pragma once

#include <string>
#include <vector>

#include "plugins/shared/host/bpf/loading.h"
#include "plugins/sources/perf/sampling/sampler.h"

struct perf_bpf;
struct ring_buffer;

namespace atalaya::perf {

class TaskNameEvents {
 public:
  // Sets the name prefixes before the programs are loaded. No prefixes: nothing is reported.
  void prepare(perf_bpf &skeleton, const std::vector<std::string> &prefixes, bool off_cpu);
  // Attaches the programs. Returns false on failure; libbpf logs the reason.
  bool attach(perf_bpf &skeleton, ring_buffer &ring);
  std::vector<Renamed> take() { return std::exchange(renamed_, {}); }

 private:
  static int on_renamed(void *self, void *data, size_t size) noexcept;

  bpf::Link rename_, exit_;
  std::vector<Renamed> renamed_;
};

}  // namespace atalaya::perf
