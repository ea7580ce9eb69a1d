// SPDX-License-Identifier: Apache-2.0
// Runs of code regions as tasks: their probes, their names and their spans.
#pragma once

#include <atalaya/plugin.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/code/probes/binaries.h"
#include "plugins/shared/code/tasks/task_names.h"
#include "plugins/sources/perf/sampling/sampler.h"

namespace atalaya::perf {

class RegionTasks {
 public:
  RegionTasks(Host host, std::vector<probes::Region> regions);

  void start(Sampler &sampler);
  void stop() { binaries_.reset(); }  // before the sampler ends
  // Follows files that appear or are replaced. Call once per window.
  void update();

  // Of a stack in a region: the stage, and the attempt if the run is long enough.
  tasks::TaskTags of(const StackCount &stack) const;
  // The job of a process, perhaps ""; nothing: its runs are not wanted.
  using JobOf = std::function<std::optional<std::string>(const StackCount &)>;
  // A span of each run of a process that is wanted. Returns how many were lost.
  uint64_t emit(Sampler &sampler, const JobOf &job_of, Batch &batch) const;

 private:
  struct Names {
    explicit Names(Host host);
    uint32_t job, stage, attempt, process, pid;
  };
  void emit(const TaskRun &run, const std::string &job, int64_t realtime_offset_ns, Batch &batch) const;

  Host host_;
  const std::vector<probes::Region> regions_;
  const Names names_;
  std::optional<probes::Binaries> binaries_;
};

}  // namespace atalaya::perf
