// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/sampling/bpf_task_regions.h"

#include <bpf/libbpf.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "bpf/perf.h"
#include "perf.skel.h"
#include "plugins/sources/perf/sampling/bpf_maps.h"

namespace atalaya::perf {
namespace {

static_assert(PERF_REGIONS == probes::kMaxRegions);

probes::Programs programs_of(perf_bpf &skeleton) {
  return {skeleton.progs.region_enters, skeleton.progs.region_returns, skeleton.progs.region_leaves};
}

}  // namespace

void TaskRegions::prepare(perf_bpf &skeleton, const SamplerOptions &options, bool multi) {
  multi_ = multi;
  const bool wanted = !options.task_regions.empty();
  const auto &programs = skeleton.progs;
  for (bpf_program *program : {programs.region_enters, programs.region_returns, programs.region_leaves, programs.on_exec})
    bpf_program__set_autoload(program, wanted);
  if (!wanted) {
    bpf_map__set_max_entries(skeleton.maps.runs_of_threads, 1);
    return;
  }
  if (multi) probes::use_multi(programs_of(skeleton));
  skeleton.rodata->regions = static_cast<uint32_t>(options.task_regions.size());
  skeleton.rodata->min_task_ns = static_cast<uint64_t>(options.min_task_ns);
  skeleton.rodata->max_spans = options.max_task_spans;
  std::copy(options.task_regions.begin(), options.task_regions.end(), skeleton.rodata->by_return);
}

bool TaskRegions::supports_multi(perf_bpf &skeleton) {
  return probes::supports_multi(programs_of(skeleton));
}

bool TaskRegions::start(perf_bpf &skeleton, ring_buffer &ring) {
  if (ring_buffer__add(&ring, bpf_map__fd(skeleton.maps.runs), on_run, this) != 0) return false;
  exec_.reset(bpf_program__attach_trace(skeleton.progs.on_exec));
  return exec_ != nullptr;
}

core::Result<std::unique_ptr<probes::Attachment>> TaskRegions::attach(perf_bpf &skeleton, uint32_t region, int file,
                                                                      const probes::Points &points) const {
  return probes::attach(programs_of(skeleton), multi_, region, file, points);
}

TaskRuns TaskRegions::take(perf_bpf &skeleton) {
  TaskRuns runs = std::exchange(collected_runs_, {});
  runs.lost += __atomic_exchange_n(&skeleton.bss->lost_runs, 0, __ATOMIC_RELAXED);
  return runs;
}

// Called from C: must not throw.
int TaskRegions::on_run(void *self, void *data, size_t size) noexcept {
  static constexpr size_t kMaxRuns = 65536;
  TaskRuns &kept = static_cast<TaskRegions *>(self)->collected_runs_;
  if (size < sizeof(perf_run)) return 0;
  const auto &run = *static_cast<const perf_run *>(data);
  try {
    if (kept.runs.size() < kMaxRuns) {
      kept.runs.push_back({id_of(run.process), std::string(text_of(run.comm)), run.thread, run.region,
                           static_cast<int64_t>(run.begin_ns), static_cast<int64_t>(run.end_ns)});
      return 0;
    }
  } catch (const std::exception &) {  // out of memory
  }
  ++kept.lost;
  return 0;
}

}  // namespace atalaya::perf
