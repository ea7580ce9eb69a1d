// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/tasks/region_tasks.h"

#include <string>
#include <string_view>
#include <utility>

#include "core/base/now.h"
#include "plugins/shared/code/probes/clock.h"

namespace atalaya::perf {

RegionTasks::Names::Names(Host host)
    : job(host.intern("job")),
      stage(host.intern("stage")),
      attempt(host.intern("attempt")),
      process(host.intern("process")),
      pid(host.intern("pid")) {}

RegionTasks::RegionTasks(Host host, std::vector<probes::Region> regions)
    : host_(host), regions_(std::move(regions)), names_(host) {}

void RegionTasks::start(Sampler &sampler) {
  if (regions_.empty()) return;
  binaries_.emplace(
      regions_,
      [&sampler](uint32_t region, int file, const probes::Points &points) { return sampler.attach_region(region, file, points); },
      [host = host_](bool problem, std::string_view text) {
        host.log(problem ? Level::warning : Level::info, "task_regions: " + std::string(text));
      });
  update();
}

void RegionTasks::update() {
  if (binaries_) binaries_->update(core::monotonic());
}

// A thread enters a region once per microsecond at most.
tasks::TaskTags RegionTasks::tags_of(const StackCount &stack) const {
  if (stack.region == 0 || stack.region > regions_.size()) return {};
  tasks::TaskTags tags;
  tags.stage = regions_[stack.region - 1].name;
  if (stack.thread != 0) tags.attempt = tags.stage + "." + std::to_string(stack.thread) + "." + std::to_string(stack.epoch / 1000);
  return tags;
}

uint64_t RegionTasks::emit(Sampler &sampler, const JobOf &job_of, Batch &batch) const {
  if (regions_.empty()) return 0;
  const TaskRuns ended = sampler.collect_runs();
  const int64_t offset = probes::realtime_offset();
  for (const TaskRun &run : ended.runs)
    if (const auto job = job_of({.process = run.process, .comm = run.comm})) emit(run, *job, offset, batch);
  return ended.lost;
}

void RegionTasks::emit(const TaskRun &run, const std::string &job, int64_t realtime_offset_ns, Batch &batch) const {
  const tasks::TaskTags tags = tags_of({.thread = run.thread, .epoch = run.epoch, .region = run.region + 1});
  if (tags.empty()) return;
  Sample &sample = batch.add(ATALAYA_SPAN, 5, 0);
  sample.time_ns = run.epoch + realtime_offset_ns;
  sample.duration_ns = run.end_ns - run.epoch;
  sample.text = batch.copy("task");
  if (!job.empty()) batch.tag(sample, names_.job, job);
  batch.tag(sample, names_.stage, tags.stage);
  batch.tag(sample, names_.attempt, tags.attempt);
  batch.tag(sample, names_.process, run.comm);
  batch.tag(sample, names_.pid, std::to_string(run.process.pid));
}

}  // namespace atalaya::perf
