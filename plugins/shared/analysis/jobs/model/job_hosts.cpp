// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jobs/model/job_hosts.h"

#include <algorithm>
#include <utility>

#include "plugins/shared/analysis/jobs/reasons/hosts.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::jobs {

JobHosts::JobHosts(const JobData &data) {
  JobTimes jobs(data.jobs.size());
  std::set<std::pair<uint32_t, uint32_t>> places;
  for (const Task &task : data.tasks) {
    JobTime &job = jobs[task.job];
    job.job = task.job;
    job.begin_ns = std::min(job.begin_ns, task.work.start_ns);
    const bool has_end = task.work.duration_ns != kUnknown;
    job.end_ns = std::max(job.end_ns, has_end ? task.work.end_ns() : std::numeric_limits<int64_t>::max());
    if (task.host != 0) places.emplace(task.host, task.job);
  }
  for (const auto &[host, job] : places) times_[data.name(host)].push_back(jobs[job]);
  for (const auto &[host, times] : times_) {
    names_.insert(host);
    const std::string_view label = first_label(host);
    if (label.empty()) continue;
    const auto [known, is_new] = by_label_.emplace(label, &times);
    if (!is_new) known->second = nullptr;
  }
}

const JobTimes *JobHosts::times_of(std::string_view host) const {
  if (const auto own = times_.find(host); own != times_.end()) return &own->second;
  const auto same = by_label_.find(first_label(host));
  return same == by_label_.end() ? nullptr : same->second;
}

void JobHosts::select(store::Selection &selection) const {
  JobTime all;
  store::TagFilter hosts{"host", {}};
  for (const auto &[host, times] : times_) {
    for (const JobTime &time : times) {
      all.begin_ns = std::min(all.begin_ns, time.begin_ns);
      all.end_ns = std::max(all.end_ns, time.end_ns);
    }
    hosts.patterns.push_back(query::exact_pattern(host));
  }
  for (const auto &[label, times] : by_label_) {
    if (!names_.contains(std::string(label))) hosts.patterns.push_back(query::exact_pattern(label));
    hosts.patterns.push_back(query::exact_pattern(label) + ".*");
  }
  selection.tags.push_back(std::move(hosts));
  selection.tags.push_back({"job", {"!*"}});
  selection.range = {std::max(all.begin_ns, selection.range.from_ns), std::min(all.end_ns, selection.range.to_ns)};
}

}  // namespace atalaya::jobs
