// SPDX-License-Identifier: Apache-2.0
// Treats runs of code regions as tasks: attaches probes, names the tasks and emits their spans.
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
  void stop() { binaries_.reset(); }  // call it before the sampler is destroyed
  // Attaches probes to files that appeared or were replaced. Called once per window.
  void update();

  // Returns the task tags of a stack in a region: the stage and, if the run is long enough, the attempt.
  tasks::TaskTags tags_of(const StackCount &stack) const;
  // Returns the job of a process; "" if it has none; absent if the process is not selected.
  using JobOf = std::function<std::optional<std::string>(const StackCount &)>;
  // Emits a span for each run in a selected process. Returns the number of lost runs.
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
